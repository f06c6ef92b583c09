#include "heed/models/graph_model.hpp"

#include <ATen/ops/_embedding_bag_forward_only.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/init.h>

#include <algorithm>

#include "heed/base/error.hpp"
#include "heed/models/label_model.hpp"

namespace heed {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Σ value · table[index] of each stretch between two starts.
Tensor bag_product(const Tensor& table, const Tensor& index, const Tensor& start,
                   const Tensor& value) {
  constexpr std::int64_t kSum = 0;
  return std::get<0>(at::_embedding_bag_forward_only(table, index, start, false, kSum, false, value,
                                                     /*include_last_offset=*/true));
}

// torch's embedding_bag sorts its indices in every backward pass; ours never change.
class BagProduct : public torch::autograd::Function<BagProduct> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& table, const BagOfWords& bag,
                        const Tensor& value) {
    ctx->save_for_backward({bag.row, bag.word_start, bag.from_place, value});
    return bag_product(table, bag.word, bag.start, value);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto saved = ctx->get_saved_variables();
    return {bag_product(gradients[0].contiguous(), saved[0], saved[1],
                        saved[3].index_select(0, saved[2])),
            Tensor(), Tensor()};
  }
};

Tensor counts_to_starts(const std::vector<std::int64_t>& counts) {
  const Tensor sums = torch::tensor(counts, torch::kInt64).cumsum(0);
  return torch::cat({torch::zeros({1}, torch::kInt64), sums});
}

Tensor edges_of(const Relation& relation) {
  return torch::stack({torch::tensor(relation.sources), torch::tensor(relation.targets)});
}

/// [B, longest] places of each node's edges in a list ordered by target, and how many.
std::pair<Tensor, Tensor> places_of(const Tensor& targets, const Tensor& nodes) {
  const Tensor first = torch::searchsorted(targets, nodes);
  const Tensor counts = torch::searchsorted(targets, nodes, false, /*right=*/true) - first;
  const Tensor place = torch::arange(counts.max().item<std::int64_t>()).unsqueeze(0);
  return {torch::minimum(first.unsqueeze(1) + place, torch::tensor(targets.size(0) - 1)), counts};
}

}  // namespace

BagOfWords::BagOfWords(const std::vector<std::vector<std::int64_t>>& rows, std::int64_t words) {
  std::vector<std::int64_t> index, lengths, row_of, by_word(static_cast<std::size_t>(words), 0);
  std::vector<float> share;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    lengths.push_back(static_cast<std::int64_t>(rows[r].size()));
    for (const std::int64_t id : rows[r]) {
      index.push_back(id);
      row_of.push_back(static_cast<std::int64_t>(r));
      share.push_back(1.0f / static_cast<float>(rows[r].size()));
      ++by_word[static_cast<std::size_t>(id)];
    }
  }
  word = torch::tensor(index, torch::kInt64);
  value = torch::tensor(share);
  start = counts_to_starts(lengths);
  from_place = word.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
  row = torch::tensor(row_of, torch::kInt64).index_select(0, from_place);
  word_start = counts_to_starts(by_word);
}

Tensor BagOfWords::times(const Tensor& table, double dropout) const {
  return BagProduct::apply(table, *this, torch::dropout(value, dropout, dropout > 0));
}

GraphModel::GraphModel(const Config& config, const DataInfo& info)
    : dropout_(config.feature.dropout),
      output_dropout_(config.output_dropout),
      smoothing_(config.train.label_smoothing) {
  HEED_CHECK(info.graph, "model: tasks of kind 'graph' need a graph");
  HEED_CHECK(config.feature.vectors.id == "trained" && config.feature.model.id == "embedding",
             "feature: the words of a node have no order; kind 'graph' takes vectors 'trained' and "
             "model 'embedding'");
  HEED_CHECK(config.query.id == "basic" || config.query.id == "self",
             "query '{}': nodes ask each other; leave 'self'", config.query.id);
  std::vector<std::vector<std::int64_t>> rows;
  for (const Example& node : info.graph->nodes)
    rows.push_back(info.vocabulary.ids(node.inputs.at("nodes")));
  const auto words = static_cast<std::int64_t>(info.vocabulary.size());
  const auto labels = static_cast<std::int64_t>(info.labels.size());
  const std::int64_t dim = config.feature.dim;
  bag_ = BagOfWords(rows, words);
  std::vector<std::string> relations;
  for (const Relation& relation : info.graph->relations) {
    relations.push_back(relation.name);
    edges_.emplace_back(relation.name, edges_of(relation));
  }
  table_ =
      register_parameter("table", torch::nn::init::xavier_uniform_(torch::empty({words, dim})));
  attention_ =
      register_module("attention", make_mechanism({.parts = config.attention,
                                                   .options = {},
                                                   .inputs = {{.name = "nodes", .dim = dim}},
                                                   .query_dim = 0,
                                                   .classes = labels,
                                                   .relations = relations}));
  if (!attention_->gives_logits())
    output_ = register_module("output", torch::nn::Linear(attention_->output_dim(), labels));
}

Tensor GraphModel::forward(const Batch& batch, Trace& trace) {
  Inputs inputs;
  inputs.set("nodes", bag_.times(table_, is_training() ? dropout_ : 0));
  for (const auto& [relation, edges] : edges_) inputs.set_edges(relation, edges);
  const TraceSlot slot = trace["layer 1"];
  Trace all = slot.differentiable() ? Trace::differentiable()
              : slot.wanted()       ? Trace::recording()
                                    : Trace();
  Tensor nodes = attention_->forward(inputs, all);
  record(all, batch, trace);
  trace.check_replacements_used();
  HEED_CHECK(nodes.dim() == 2 && nodes.size(0) == bag_.start.size(0) - 1,
             "model: mechanism gave {}; kind 'graph' needs one over edges: gat, gatv2, het-gat",
             shape_text(nodes));
  nodes = nodes.index_select(0, batch.nodes);
  if (!output_) return nodes;
  return output_->forward(torch::dropout(torch::elu(nodes), output_dropout_, is_training()));
}

const std::pair<std::string, Tensor>& GraphModel::edges_under(const std::string& map) const {
  if (edges_.size() == 1) return edges_.front();
  const std::string relation = map.substr(map.rfind('/') + 1);
  const auto found =
      std::ranges::find(edges_, relation, [](const auto& edges) { return edges.first; });
  TORCH_INTERNAL_ASSERT(found != edges_.end(), "no edges under the map ", map);
  return *found;
}

void GraphModel::record(const Trace& all, const Batch& batch, Trace& trace) const {
  for (const LossTerm& term : all.losses()) trace["graph"].add(term);
  for (Choice choice : all.choices()) {
    choice.logp = choice.logp.index_select(0, batch.nodes);
    if (choice.entropy.defined()) choice.entropy = choice.entropy.index_select(0, batch.nodes);
    trace[choice.name].add(std::move(choice));
  }
  for (TraceMap map : all.maps()) {
    const std::string name = map.name;
    if (map.axes.back() != "edge") {  // over the relations: a row a node
      map.weights = map.weights.index_select(0, batch.nodes);
      trace[name].record(std::move(map));
      continue;
    }
    const auto& [relation, edges] = edges_under(name);
    const auto [places, counts] = places_of(edges[1], batch.nodes);
    const Tensor heads = map.weights.squeeze(0);  // [H, E]
    const Tensor own = heads.index_select(1, places.flatten())
                           .unflatten(1, {places.size(0), places.size(1)})
                           .transpose(0, 1)
                           .unsqueeze(2);  // [B, H, 1, K]
    const Tensor there = torch::arange(places.size(1)).unsqueeze(0) < counts.unsqueeze(1);
    trace[name].record({.axes = {"head", "query", "key"},
                        .query_input = "",
                        .key_input = relation,
                        .weights = torch::where(there.view({-1, 1, 1, places.size(1)}), own, 0.0),
                        .query_lengths = {},
                        .key_lengths = counts});
  }
}

Tensor GraphModel::losses(const Batch& batch, Trace& trace) {
  return torch::cross_entropy_loss(forward(batch, trace), batch.labels, {}, at::Reduction::None,
                                   /*ignore_index=*/-100, smoothing_);
}

Reply GraphModel::answer(const Batch& batch, Trace& trace) {
  return label_reply(forward(batch, trace), batch.labels);
}

}  // namespace heed
