#include "heed/train/evaluation.hpp"

#include <limits>

#include "heed/base/error.hpp"

namespace heed {

namespace {

/// [Q, K] the mean over heads.
Tensor mean_of_heads(const TraceMap& map) {
  return map.weights.flatten(0, -3).to(torch::kFloat64).mean(0);
}

/// The weight of each row of a map: that of the sentence it stands for, where a map over as many
/// keys as this one has rows says so; else all count alike.
Tensor row_weights(const std::vector<TraceMap>& maps, std::int64_t rows, std::int64_t keys) {
  for (const TraceMap& above : maps) {
    if (rows > 1 && rows != keys && above.weights.dim() >= 3 && above.weights.size(-1) == rows)
      return mean_of_heads(above).mean(0);
  }
  return torch::full({rows}, 1.0 / static_cast<double>(rows), torch::kFloat64);
}

constexpr std::int64_t kMostFeatures = 20000;  // numbers of one map; more are not kept

/// The map of one entry of the batch, cut to its lengths.
TraceMap map_of_entry(const TraceMap& map, std::int64_t b) {
  TraceMap own = map;
  own.weights = map.entry(b).contiguous();
  own.features = Tensor();
  if (map.features.defined()) {
    TraceMap each = map;  // its axes come first, so it is cut as the weights are
    each.weights = map.features;
    const Tensor features = each.entry(b);
    if (features.numel() <= kMostFeatures) own.features = features.clone();
  }
  own.query_lengths = own.key_lengths = Tensor();
  return own;
}

}  // namespace

std::vector<double> token_weights(const Prediction& prediction, std::size_t tokens,
                                  const std::string& input) {
  const auto keys = static_cast<std::int64_t>(tokens);
  const TraceMap* found = nullptr;
  for (const TraceMap& map : prediction.maps) {
    if (map.weights.dim() < 3 || map.weights.size(-1) != keys || map.weights.numel() == 0) continue;
    if (!found || (map.key_input == input && found->key_input != input)) found = &map;
  }
  if (!found) return {};
  const Tensor rows = mean_of_heads(*found);
  const Tensor mean = rows.t().mv(row_weights(prediction.maps, rows.size(0), keys)).contiguous();
  return {mean.data_ptr<double>(), mean.data_ptr<double>() + mean.numel()};
}

Reply answer_batch(const LoadedRun& run, const Batch& batch, Trace& trace) {
  Reply reply = run.model->answer(batch, trace);
  for (std::size_t row = 0; row < reply.predictions.size(); ++row) {
    for (const TraceMap& map : trace.maps())
      reply.predictions[row].maps.push_back(map_of_entry(map, static_cast<std::int64_t>(row)));
  }
  return reply;
}

Evaluation evaluate(const LoadedRun& run, std::span<const Example> examples,
                    const EvaluateOptions& options) {
  torch::NoGradGuard no_grad;
  run.model->eval();
  run.model->answer_quickly(options.quick);
  Evaluation result;
  result.predictions.resize(examples.size());
  std::vector<std::int64_t> lengths;
  for (const Example& example : examples) lengths.push_back(total_length(example));
  double loss = 0;
  bool known = !examples.empty();
  const std::size_t size =
      run.model->whole() ? std::max<std::size_t>(1, examples.size()) : options.batch;
  for (const auto& indices : in_order_batches(lengths, size)) {
    const Batch batch = collate(examples, indices, run.info);
    Trace trace = options.weights ? Trace::recording() : Trace();
    Reply reply = answer_batch(run, batch, trace);
    known = known && reply.losses.defined();
    if (known) loss += reply.losses.sum().item<double>();
    for (std::size_t row = 0; row < indices.size(); ++row)
      result.predictions[indices[row]] = std::move(reply.predictions[row]);
  }
  result.loss = known ? loss / static_cast<double>(examples.size())
                      : std::numeric_limits<double>::quiet_NaN();
  return result;
}

}  // namespace heed
