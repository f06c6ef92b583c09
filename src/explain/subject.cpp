#include "heed/explain/subject.hpp"

#include <algorithm>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed::explain {
namespace {

/// The input whose words a map's keys are; a view's are those of what it was cut from.
std::string origin(const Batch& batch, const std::string& key_input) {
  const auto view = batch.views.find(key_input);
  return view == batch.views.end() ? key_input : view->second.of;
}

std::int64_t positions(const Batch& batch, const std::string& input) {
  const Padded& padded = batch.inputs.at(input);
  return padded.ids.defined() ? padded.ids.size(1) : padded.values.size(1);
}

/// [B, K] → [B, L]: the words of a view at their place in the text.
Tensor in_place(const Tensor& weights, const Batch& batch, const TraceMap& map,
                std::int64_t length) {
  const auto view = batch.views.find(map.key_input);
  if (view == batch.views.end()) return weights;
  const Tensor at = view->second.starts.unsqueeze(1) + torch::arange(weights.size(1)).unsqueeze(0);
  const Tensor inside =
      torch::arange(weights.size(1)).unsqueeze(0) < view->second.lengths.unsqueeze(1);
  return torch::zeros({weights.size(0), length}, weights.options())
      .scatter_add(1, at.clamp_max(length - 1), torch::where(inside, weights, 0.0));
}

/// True if the rows of the map stand for the sentences of its keys.
bool by_sentence(const Batch& batch, const TraceMap& map) {
  const auto input = batch.inputs.find(map.key_input);
  return input != batch.inputs.end() && !input->second.levels.empty() && map.weights.dim() == 4 &&
         map.query_input.empty() &&
         map.weights.size(2) == input->second.levels.front().first.size(1);
}

/// [B, Q] how much each row of a map counts.
Tensor row_shares(const Tensor& rows, const TraceMap& map, const std::vector<TraceMap>& all) {
  const std::int64_t Q = rows.size(1), K = rows.size(2);
  for (const TraceMap& above : all) {
    if (Q > 1 && Q != K && above.weights.dim() == 4 && above.weights.size(3) == Q)
      return above.weights.mean({1, 2});
  }
  if (!map.query_lengths.defined()) return torch::full({rows.size(0), Q}, 1.0 / double(Q));
  const Tensor valid = torch::arange(Q).unsqueeze(0) < map.query_lengths.unsqueeze(1);
  return valid.to(rows.scalar_type()) / map.query_lengths.clamp_min(1).unsqueeze(1);
}

std::shared_ptr<LabelModel> label_model(const LoadedRun& run) {
  auto model = std::dynamic_pointer_cast<LabelModel>(run.model);
  HEED_CHECK(model,
             "explain: a task of kind '{}' has no labels to explain; classify, pair, aspect, "
             "document, answer and image have ('heed align' is for translations)",
             run.config.task.source.kind);
  return model;
}

}  // namespace

Subject::Subject(const LoadedRun& run, const Example& sample, std::string input)
    : run_(&run), model_(label_model(run)), input_(std::move(input)) {
  std::vector<std::string> names;
  for (const InputInfo& info : run.info.inputs) names.push_back(info.name);
  HEED_CHECK(input_.empty() || std::ranges::find(names, input_) != names.end(),
             "explain: the task has no input '{}'{}", input_, suggestion(input_, names));
  const std::size_t first = 0;
  const Seen seen = look({&sample, 1}, {&first, 1});
  if (input_.empty()) input_ = origin(seen.batch, seen.maps.front().key_input);
}

Seen Subject::look(std::span<const Example> examples, std::span<const std::size_t> indices) const {
  return look(collate(examples, indices, run_->info));
}

Seen Subject::look(Batch batch) const {
  const torch::NoGradGuard no_grad;
  model_->eval();
  Trace trace = Trace::recording();
  Seen seen{.batch = std::move(batch)};
  seen.features = model_->features(seen.batch, trace);
  seen.probabilities = torch::softmax(model_->logits(seen.features, trace), 1);
  seen.all = trace.maps();
  for (const TraceMap& map : seen.all) {
    if (map.weights.dim() != 4) continue;
    const std::string from = origin(seen.batch, map.key_input);
    if (seen.batch.inputs.contains(from) && (input_.empty() || input_ == from))
      seen.maps.push_back(map);
  }
  HEED_CHECK(!seen.maps.empty(), "explain: mechanism '{}' has no weights over {}",
             run_->config.attention.mechanism.id, input_.empty() ? "an input" : "'" + input_ + "'");
  return seen;
}

Tensor Subject::answers(std::span<const Example> examples) const {
  const torch::NoGradGuard no_grad;
  model_->eval();
  Tensor result = torch::empty(
      {static_cast<std::int64_t>(examples.size()), static_cast<std::int64_t>(labels().size())});
  for (const auto& indices : batches_of(examples, 128)) {
    Trace nobody;
    const Tensor logits = model_->forward(collate(examples, indices, run_->info), nobody);
    const std::vector<std::int64_t> rows(indices.begin(), indices.end());
    result.index_copy_(0, torch::tensor(rows), torch::softmax(logits, 1));
  }
  return result;
}

Tensor Subject::probabilities(const Seen& seen, const std::vector<Tensor>& weights) const {
  Trace trace;
  for (std::size_t i = 0; i < weights.size(); ++i) trace.replace(seen.maps[i].name, weights[i]);
  return torch::softmax(model_->logits(seen.features, trace), 1);
}

Tensor Subject::gather(const Seen& seen) const {
  const std::int64_t length = positions(seen.batch, input_);
  Tensor sum;
  for (const TraceMap& map : seen.maps) {
    const Tensor rows = map.weights.mean(1);
    const Tensor each = torch::bmm(row_shares(rows, map, seen.all).unsqueeze(1), rows).squeeze(1);
    if (each.size(1) != length && !seen.batch.views.contains(map.key_input)) continue;
    const Tensor placed = in_place(each, seen.batch, map, length);
    sum = sum.defined() ? sum + placed : placed;
  }
  HEED_CHECK(sum.defined(), "explain: no attention module looks at the words themselves");
  return sum;
}

Tensor Subject::attention(const Seen& seen) const {
  const Tensor sum = gather(seen);
  return sum / sum.sum(1, /*keepdim=*/true).clamp_min(1e-12);
}

Tensor Subject::support(const Batch& batch, const TraceMap& map) const {
  const std::int64_t K = map.weights.size(3);
  const Tensor place = torch::arange(K).view({1, 1, 1, K});
  Tensor inside = map.key_lengths.defined() ? place < map.key_lengths.view({-1, 1, 1, 1})
                                            : torch::ones({1, 1, 1, K}, torch::kBool);
  if (by_sentence(batch, map)) {
    const Tensor sizes = batch.inputs.at(map.key_input).levels.front().first;
    const Tensor ends = sizes.cumsum(1);
    const auto row = [](const Tensor& x) { return x.unsqueeze(1).unsqueeze(-1); };  // [B, 1, S, 1]
    inside = inside & (place >= row(ends - sizes)) & (place < row(ends));
  }
  return map.features.defined() ? inside.unsqueeze(-1) : inside;
}

std::vector<std::vector<std::size_t>> batches_of(std::span<const Example> examples,
                                                 std::size_t size) {
  std::vector<std::int64_t> lengths;
  for (const Example& example : examples) lengths.push_back(total_length(example));
  return in_order_batches(lengths, size);
}

}  // namespace heed::explain
