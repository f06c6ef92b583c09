#include "heed/metrics/ranking.hpp"

#include "train/ranking_measures.hpp"

namespace heed {

std::vector<metrics::Metric> measure_rankings(const LoadedRun& /*run*/,
                                              std::span<const Example> examples,
                                              const Evaluation& evaluation) {
  constexpr std::size_t kFirst = 10;
  std::vector<metrics::Ranking> rankings;
  std::vector<metrics::Relevant> relevant;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    rankings.push_back(evaluation.predictions[i].sequence);
    relevant.push_back({{examples[i].label, 1.0}});
  }
  return {metrics::hit_rate(rankings, relevant, kFirst), metrics::ndcg(rankings, relevant, kFirst)};
}

}  // namespace heed
