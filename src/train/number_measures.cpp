#include "train/number_measures.hpp"

#include <cmath>

namespace heed {

std::vector<metrics::Metric> measure_numbers(const LoadedRun& /*run*/,
                                             std::span<const Example> examples,
                                             const Evaluation& evaluation) {
  std::vector<double> errors;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    errors.push_back(std::abs(evaluation.predictions[i].number - examples[i].number));
    sum += errors.back();
    squares += errors.back() * errors.back();
  }
  const auto count = static_cast<double>(examples.size());
  metrics::Metric mae{
      .name = "mae",
      .value = metrics::ratio(sum, count),
      .signature = metrics::signature("mae", {}),
      .details = {{"count", count}, {"rmse", std::sqrt(metrics::ratio(squares, count))}}};
  mae.segments = errors.size();
  mae.resample = [errors](std::span<const std::size_t> drawn) {
    double total = 0;
    for (const std::size_t i : drawn) total += errors[i];
    return metrics::ratio(total, static_cast<double>(drawn.size()));
  };
  return {std::move(mae)};
}

}  // namespace heed
