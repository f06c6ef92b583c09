#include "heed/metrics/perplexity.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

#include "heed/base/error.hpp"
#include "metrics/segments.hpp"

namespace heed::metrics {

Metric perplexity(std::span<const std::vector<double>> log_probs) {
  SegmentSums sums(2);  // log probability, tokens
  double segment_total = 0, filled = 0;
  for (const std::vector<double>& segment : log_probs) {
    for (const double log_prob : segment) {
      // A log-softmax in float may end a rounding error above 0.
      HEED_CHECK(log_prob <= 1e-6, "perplexity: {} is no log probability", log_prob);
    }
    const double sum = std::accumulate(segment.begin(), segment.end(), 0.0);
    const auto tokens = static_cast<double>(segment.size());
    sums.add({sum, tokens});
    if (tokens > 0) segment_total += std::exp(-sum / tokens), filled += 1;
  }
  const std::vector<double> total = sums.total();
  const double nats = ratio(-total[0], total[1]);
  Metric metric{.name = "perplexity"};
  metric.signature = signature("perplexity", {{"average", "tokens"}, {"log", "natural"}});
  metric.details = {{"nats", nats},
                    {"bits", nats / std::numbers::ln2},
                    {"tokens", total[1]},
                    {"segment_mean", ratio(segment_total, filled, 1)}};
  finish(metric, std::move(sums),
         [](std::span<const double> row) { return std::exp(ratio(-row[0], row[1])); });
  return metric;
}

}  // namespace heed::metrics
