#include "train/supervise.hpp"

namespace heed {
namespace {

constexpr double kLeast = 1e-9;  // under a logarithm

/// Gold attention of the runs of words that attention was over: the sum of each run's.
Tensor gold_of_runs(const Tensor& gold, const Tensor& sizes) {
  const Tensor before = torch::cat({gold.new_zeros({gold.size(0), 1}), gold.cumsum(1)}, 1);
  const Tensor ends = sizes.cumsum(1);
  return before.gather(1, ends) - before.gather(1, ends - sizes);
}

/// [B, K] the gold attention of what a map looks at; undefined: there is none.
Tensor gold_of(const Batch& batch, const TraceMap& map) {
  const std::int64_t keys = map.weights.size(-1);
  const auto view = batch.views.find(map.key_input);
  const auto input = batch.inputs.find(view == batch.views.end() ? map.key_input : view->second.of);
  if (input == batch.inputs.end() || !input->second.gold.defined()) return {};
  const Tensor& gold = input->second.gold;
  if (view != batch.views.end()) {
    const Tensor place = torch::arange(keys).unsqueeze(0);
    const Tensor inside = place < view->second.lengths.unsqueeze(1);
    const Tensor at = (view->second.starts.unsqueeze(1) + place).clamp_max(gold.size(1) - 1);
    return torch::where(inside, gold.gather(1, at), 0.0);
  }
  if (gold.size(1) == keys) return gold;
  for (const auto& [sizes, counts] : input->second.levels) {
    if (sizes.size(1) == keys) return gold_of_runs(gold, sizes);
  }
  return {};
}

/// [B, K] the weights, mean over heads and the queries there are.
Tensor mean_weights(const TraceMap& map) {
  const Tensor weights = map.weights.mean(1);
  if (!map.query_lengths.defined()) return weights.mean(1);
  const Tensor valid =
      (torch::arange(weights.size(1)).unsqueeze(0) < map.query_lengths.unsqueeze(1)).unsqueeze(-1);
  return torch::where(valid, weights, 0.0).sum(1) / map.query_lengths.clamp_min(1).unsqueeze(-1);
}

Tensor distance(const Tensor& weights, const Tensor& gold, const std::string& loss) {
  if (loss == "squared") return (weights - gold).square().sum(1);
  const Tensor cross = -(gold * weights.clamp_min(kLeast).log()).sum(1);
  return loss == "kl" ? cross + (gold * gold.clamp_min(kLeast).log()).sum(1) : cross;
}

}  // namespace

Tensor attention_loss(const Trace& trace, const Batch& batch, const std::string& loss) {
  Tensor sum;
  int maps = 0;
  for (const TraceMap& map : trace.maps()) {
    if (map.weights.dim() != 4) continue;
    const Tensor gold = gold_of(batch, map);
    if (!gold.defined()) continue;
    const Tensor mass = gold.sum(1, /*keepdim=*/true);
    const Tensor marked = mass.squeeze(1) > 0;
    const Tensor each =
        distance(mean_weights(map), gold / mass.clamp_min(static_cast<float>(kLeast)), loss);
    const Tensor mean =
        torch::where(marked, each, 0.0).sum() / marked.sum().clamp_min(1).to(each.scalar_type());
    sum = sum.defined() ? sum + mean : mean;
    ++maps;
  }
  return sum.defined() ? sum / maps : sum;
}

}  // namespace heed
