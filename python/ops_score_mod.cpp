// What a user's own score_mod needs of the library, tile by tile.
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/library.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "heed/attention/registry.hpp"
#include "heed/attention/registry_json.hpp"
#include "heed/attention/score.hpp"
#include "heed/base/error.hpp"
#include "heed/kernels/random.hpp"

namespace {

using namespace heed;
using torch::autograd::Edge;
using torch::autograd::Node;

// Scores after scale and softcap, in the working type: query [B, H, Q, d_q], key [B, H, K, d_k] →
// [B, H, Q, K]. The first key given is number `first_key` of its row. The whole call has been
// checked before.
Tensor scores_op(const std::optional<Tensor>& query, const Tensor& key,
                 const std::vector<Tensor>& params, const std::string& call_text,
                 std::int64_t first_key) try {
  const auto call = nlohmann::ordered_json::parse(call_text);
  const PartSpec spec = spec_from_json(call.at("score"), "attend: score");
  const PartInfo& info = attention_parts().find_built(Group::score, spec.id);
  const auto score = std::get<MakeScore>(info.make)(resolve(info, spec.options, "attend: score"));

  const auto type = key.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
  Params named;
  const auto names = call.at("params").get<std::vector<std::string>>();
  for (std::size_t i = 0; i < names.size(); ++i) named[names[i]] = params.at(i).to(type);
  const Tensor q = query ? query->to(type) : Tensor();
  Tensor e = score->reference(q, key.to(type), score->from_key(named, first_key));

  const double scale = call.at("scale").is_null()
                           ? score->default_scale({.query_dim = query ? query->size(3) : 0,
                                                   .key_dim = key.size(3),
                                                   .heads = key.size(1)})
                           : call.at("scale").get<double>();
  if (scale != 1) e = e * scale;
  if (!call.at("softcap").is_null()) {
    const auto cap = call.at("softcap").get<double>();
    e = torch::tanh(e / cap) * cap;
  }
  return e.expand({key.size(0), key.size(1), q.defined() ? q.size(2) : 1, key.size(2)});
} catch (const InputError& error) {
  TORCH_CHECK_VALUE(false, error.what());
}

// A tensor that stands for an edge of the graph: a gradient given to it flows there.
Tensor stand_in(const Edge& edge) {
  if (const auto* leaf = dynamic_cast<torch::autograd::AccumulateGrad*>(edge.function.get()))
    return leaf->variable;
  const auto options = edge.function->input_metadata(edge.input_nr).options();
  return torch::autograd::make_variable(torch::empty({0}, options), edge);
}

// The tensors that a gradient of `modified` = score_mod(scores, …) flows to, but for those in
// `known`: the scores themselves and what earlier tiles have shown. The graph tells: nodes older
// than number `first` of this thread were not made by the function, so edges to them are edges to
// what it closes over.
std::vector<Tensor> captured_op(const Tensor& modified, std::int64_t first,
                                const std::vector<Tensor>& known) {
  std::vector<Edge> seen;
  for (const Tensor& x : known) seen.push_back(torch::autograd::impl::gradient_edge(x));
  std::vector<Tensor> found;
  const auto add = [&](const Edge& edge) {
    if (std::find(seen.begin(), seen.end(), edge) != seen.end()) return;
    seen.push_back(edge);
    found.push_back(stand_in(edge));
  };
  std::unordered_set<const Node*> visited;
  std::vector<Edge> open = {torch::autograd::impl::gradient_edge(modified)};
  while (!open.empty()) {
    const Edge edge = open.back();
    open.pop_back();
    const Node* const node = edge.function.get();
    if (node == nullptr) continue;
    const bool leaf = dynamic_cast<const torch::autograd::AccumulateGrad*>(node) != nullptr;
    if (leaf || node->sequence_nr() < static_cast<std::uint64_t>(first)) {
      add(edge);
    } else if (visited.insert(node).second) {
      for (const Edge& next : node->next_edges()) open.push_back(next);
    }
  }
  return found;
}

// The decisions of kernels::dropout_keep for a tile, [1, H, rows, columns] of 0 and 1; that one
// draws a row from key 0 on, which would cost a tile as much as all before it.
Tensor dropout_tile_op(std::int64_t seed, double p, std::int64_t batch, std::int64_t heads,
                       at::IntArrayRef rows, at::IntArrayRef columns) {
  const Tensor keep =
      torch::empty({1, heads, rows[1] - rows[0], columns[1] - columns[0]}, torch::kUInt8);
  const std::uint64_t threshold = kernels::dropout_threshold(p);
  const auto word = [](std::int64_t x) { return static_cast<std::uint32_t>(x); };
  const std::array<std::uint32_t, 2> key{word(seed), word(seed >> 32)};
  auto* out = keep.mutable_data_ptr<std::uint8_t>();
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t query = rows[0]; query < rows[1]; ++query) {
      std::array<std::uint32_t, 4> words{};
      for (std::int64_t k = columns[0]; k < columns[1]; ++k) {
        if (k == columns[0] || k % 4 == 0)
          words = kernels::philox({word(k / 4), word(query), word(head), word(batch)}, key);
        *out++ = words[static_cast<std::size_t>(k % 4)] >= threshold;
      }
    }
  }
  return keep;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(heed, library) {
  library.def(
      "scores(Tensor? query, Tensor key, Tensor[] params, str call, int first_key) -> Tensor",
      scores_op);
  library.def("captured(Tensor modified, int first, Tensor[] known) -> Tensor[]", captured_op);
  library.def(
      "dropout_tile(int seed, float p, int batch, int heads, int[] rows, int[] columns) -> Tensor",
      dropout_tile_op);
}
