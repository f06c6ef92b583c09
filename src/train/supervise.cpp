#include "train/supervise.hpp"

#include <algorithm>

#include "heed/base/error.hpp"

namespace heed {
namespace {

using Examples = std::span<const Example>;

constexpr float kLeast = 1e-9f;  // under a logarithm

/// Rows of weights and what they should be, [N, K] each; undefined: nothing to compare.
struct Rows {
  Tensor weights, gold;
};

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

/// [B, Q, K] 1 where a word of the target is linked with a word of the text; undefined: the map is
/// no such map, or no example has links.
Tensor gold_links(const Batch& batch, Examples examples, const TraceMap& map) {
  if (map.query_input != "target" || !batch.inputs.contains(map.key_input)) return {};
  Tensor gold;
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    const auto& links = examples[batch.indices[static_cast<std::size_t>(b)]].links;
    if (links.empty()) continue;
    if (!gold.defined())
      gold = torch::zeros({batch.size(), map.weights.size(-2), map.weights.size(-1)});
    auto cells = gold.accessor<float, 3>();
    for (const auto& [target, source] : links)
      cells[b][static_cast<std::int64_t>(target)][static_cast<std::int64_t>(source)] = 1;
  }
  return gold;
}

/// [B, Q, K] of one head, or the mean of all.
Tensor weights_of_head(const TraceMap& map, std::int64_t head) {
  if (head == 0) return map.weights.mean(1);
  HEED_CHECK(head <= map.weights.size(1),
             "train.supervise_head: there is no head {} of map '{}'; it has {}", head, map.name,
             map.weights.size(1));
  return map.weights.select(1, head - 1);
}

/// [B, K] the mean over the queries there are.
Tensor mean_of_queries(const Tensor& weights, const Tensor& query_lengths) {
  if (!query_lengths.defined()) return weights.mean(1);
  const Tensor valid =
      (torch::arange(weights.size(1)).unsqueeze(0) < query_lengths.unsqueeze(1)).unsqueeze(-1);
  return torch::where(valid, weights, 0.0).sum(1) / query_lengths.clamp_min(1).unsqueeze(-1);
}

Rows rows_of(const Batch& batch, Examples examples, const TraceMap& map, std::int64_t head) {
  if (map.weights.dim() != 4) return {};
  if (const Tensor links = gold_links(batch, examples, map); links.defined())
    return {.weights = weights_of_head(map, head).flatten(0, 1), .gold = links.flatten(0, 1)};
  const Tensor gold = gold_of(batch, map);
  if (!gold.defined()) return {};
  return {.weights = mean_of_queries(weights_of_head(map, head), map.query_lengths), .gold = gold};
}

Tensor distance(const Tensor& weights, const Tensor& gold, const std::string& loss) {
  if (loss == "squared") return (weights - gold).square().sum(1);
  const Tensor cross = -(gold * weights.clamp_min(kLeast).log()).sum(1);
  return loss == "kl" ? cross + (gold * gold.clamp_min(kLeast).log()).sum(1) : cross;
}

/// The sum over rows with any gold attention, and how many they are.
struct Compared {
  Tensor sum;
  std::int64_t count = -1;  // nothing to compare
};

Compared compare(const Rows& rows, const std::string& loss) {
  if (!rows.gold.defined()) return {};
  const Tensor mass = rows.gold.sum(1, /*keepdim=*/true);
  const Tensor marked = mass.squeeze(1) > 0;
  const Tensor each = distance(rows.weights, rows.gold / mass.clamp_min(kLeast), loss);
  return {.sum = torch::where(marked, each, 0.0).sum(), .count = marked.sum().item<std::int64_t>()};
}

}  // namespace

bool has_gold(const Example& example) { return !example.gold.empty() || !example.links.empty(); }

Tensor attention_loss(const Trace& trace, const Batch& batch, Examples examples,
                      const Config::Train& train, const CountAll& count_all) {
  if (!train.supervise_map.empty()) trace.map(train.supervise_map);  // says which there are
  std::vector<Compared> compared;
  std::vector<std::int64_t> counts;
  for (const TraceMap& map : trace.maps()) {
    const bool named = train.supervise_map.empty() || map.name == train.supervise_map;
    compared.push_back(
        named ? compare(rows_of(batch, examples, map, train.supervise_head), train.supervise_loss)
              : Compared());
    counts.push_back(compared.back().count);
  }
  counts = count_all(std::move(counts));
  Tensor sum;
  for (std::size_t i = 0; i < compared.size(); ++i) {
    if (!compared[i].sum.defined()) continue;
    const Tensor mean = compared[i].sum / static_cast<double>(std::max<std::int64_t>(1, counts[i]));
    sum = sum.defined() ? sum + mean : mean;
  }
  const auto maps = std::ranges::count_if(counts, [](std::int64_t count) { return count >= 0; });
  return sum.defined() ? sum / maps : sum;
}

}  // namespace heed
