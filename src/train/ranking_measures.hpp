#pragma once
#include "heed/train/evaluation.hpp"

namespace heed {

/// Hit rate and NDCG of the ten best, of tasks that rank candidates.
std::vector<metrics::Metric> measure_rankings(const LoadedRun& run,
                                              std::span<const Example> examples,
                                              const Evaluation& evaluation);

}  // namespace heed
