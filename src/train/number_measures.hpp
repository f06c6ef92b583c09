#pragma once
#include "heed/train/evaluation.hpp"

namespace heed {

/// Mean absolute error of answers that are numbers.
std::vector<metrics::Metric> measure_numbers(const LoadedRun& run,
                                             std::span<const Example> examples,
                                             const Evaluation& evaluation);

}  // namespace heed
