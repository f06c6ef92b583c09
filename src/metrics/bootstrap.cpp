#include "heed/metrics/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"

namespace heed::metrics {
namespace {

void check(const Metric& metric, const BootstrapOptions& options) {
  HEED_CHECK(metric.resample, "{}: has no segments to resample", metric.name);
  HEED_CHECK(options.resamples > 0, "{}: the bootstrap needs at least one resample", metric.name);
  HEED_CHECK(options.confidence > 0 && options.confidence < 1,
             "{}: confidence {} is not between 0 and 1", metric.name, options.confidence);
}

/// Calls `use` with each resample. Each has a generator of its own, so that resample r does not
/// depend on how many went before.
template <class Use>
void draw(std::size_t segments, const BootstrapOptions& options, Use use) {
  std::vector<std::size_t> sample(segments);
  for (std::size_t r = 0; r < options.resamples; ++r) {
    Random random(Random::derive(options.seed, r));
    for (std::size_t& segment : sample) segment = random.below(segments);
    use(std::span<const std::size_t>(sample));
  }
}

// Infinite neighbours (the PSNR of equal images) are not interpolated: ∞ − ∞ is no number.
double quantile(std::span<const double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  if (part == 0 || sorted[below] == sorted[above]) return sorted[below];
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

Interval summarise(std::vector<double> values, double confidence) {
  std::ranges::sort(values);
  const double mean =
      std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
  return {.mean = mean,
          .low = quantile(values, (1 - confidence) / 2),
          .high = quantile(values, (1 + confidence) / 2)};
}

}  // namespace

Interval bootstrap(const Metric& metric, const BootstrapOptions& options) {
  check(metric, options);
  if (metric.segments == 0) return {metric.value, metric.value, metric.value};
  std::vector<double> values;
  draw(metric.segments, options, [&](auto sample) { values.push_back(metric.resample(sample)); });
  return summarise(std::move(values), options.confidence);
}

PairedResult paired_bootstrap(const Metric& a, const Metric& b, const BootstrapOptions& options) {
  check(a, options);
  check(b, options);
  HEED_CHECK(a.signature == b.signature, "cannot compare {} with {}", a.signature, b.signature);
  HEED_CHECK(a.segments == b.segments, "{}: {} segments against {}; both systems need the same",
             a.name, a.segments, b.segments);
  PairedResult result{.difference = a.value - b.value};
  if (std::isnan(result.difference)) result.difference = 0;  // ∞ against ∞
  result.interval = {result.difference, result.difference, result.difference};
  result.wins = 0.5;
  if (a.segments == 0) return result;

  std::vector<double> differences;
  double wins = 0;
  draw(a.segments, options, [&](auto sample) {
    const double x = a.resample(sample), y = b.resample(sample);
    differences.push_back(x == y ? 0 : x - y);
    wins += x > y ? 1 : x == y ? 0.5 : 0;
  });
  const auto count = static_cast<double>(differences.size());
  result.wins = wins / count;
  result.interval = summarise(differences, options.confidence);
  if (!std::isfinite(result.interval.mean)) return result;  // an infinite PSNR: no test
  const auto as_far = std::ranges::count_if(differences, [&](double d) {
    return std::abs(d - result.interval.mean) >= std::abs(result.difference);
  });
  result.p_value = (static_cast<double>(as_far) + 1) / (count + 1);
  return result;
}

void add_interval(Metric& metric, const BootstrapOptions& options) {
  const Interval interval = bootstrap(metric, options);
  metric.details["ci_low"] = interval.low;
  metric.details["ci_high"] = interval.high;
  metric.details["ci_mean"] = interval.mean;
  const std::string tail = fmt::format("|v:{}", version());
  std::string head = metric.signature;
  if (head.ends_with(tail)) head.resize(head.size() - tail.size());
  metric.signature = fmt::format("{}|bs:{}|seed:{}|ci:{}{}", head, options.resamples, options.seed,
                                 options.confidence, tail);
}

void add_comparison(Metric& metric, const Metric& other, const BootstrapOptions& options) {
  const PairedResult result = paired_bootstrap(metric, other, options);
  add_interval(metric, options);
  metric.details["other"] = other.value;
  metric.details["difference"] = result.difference;
  metric.details["difference_low"] = result.interval.low;
  metric.details["difference_high"] = result.interval.high;
  metric.details["p_value"] = result.p_value;
  metric.details["wins"] = result.wins;
}

}  // namespace heed::metrics
