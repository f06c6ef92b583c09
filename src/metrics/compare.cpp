#include "heed/metrics/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"
#include "heed/metrics/student.hpp"

namespace heed::metrics {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_about(std::span<const double> values, double centre) {
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return sum;
}

/// A mean, the estimated variance of it, and how well that is known.
struct Estimate {
  double mean, variance, df;

  double p_value() const {
    return mean == 0 ? 1 : student_two_sided(mean / std::sqrt(variance), df);
  }
  Interval interval(double confidence) const {
    const double reach = student_critical(confidence, df) * std::sqrt(variance);
    return {mean, mean - reach, mean + reach};
  }
};

Estimate estimate(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = mean_of(values);
  return {mean, squares_about(values, mean) / (n - 1) / n, n - 1};
}

SeedScores differences(const SeedScores& a, const SeedScores& b) {
  HEED_CHECK(!a.empty() && a.size() == b.size(),
             "comparison: {} seeds against {}; both systems need the same", a.size(), b.size());
  SeedScores result;
  for (std::size_t s = 0; s < a.size(); ++s) {
    HEED_CHECK(
        !a[s].empty() && a[s].size() == b[s].size() && a[s].size() == a[0].size(),
        "comparison: {} examples against {} in seed {} of {}; both systems need the same in all",
        a[s].size(), b[s].size(), s + 1, a.size());
    std::vector<double>& row = result.emplace_back();
    for (std::size_t i = 0; i < a[s].size(); ++i) row.push_back(a[s][i] - b[s][i]);
  }
  return result;
}

/// Of seeds × examples, both random: see CrossedComparison.
Estimate crossed(const SeedScores& table, std::span<const double> of_seeds,
                 std::span<const double> of_examples) {
  const auto seeds = static_cast<double>(of_seeds.size());
  const auto examples = static_cast<double>(of_examples.size());
  const double mean = mean_of(of_seeds);
  double rest = 0;
  for (std::size_t s = 0; s < table.size(); ++s) {
    for (std::size_t i = 0; i < table[s].size(); ++i) {
      const double r = table[s][i] - of_seeds[s] - of_examples[i] + mean;
      rest += r * r;
    }
  }
  const double seeds_df = seeds - 1, examples_df = examples - 1, rest_df = seeds_df * examples_df;
  const double by_seed = examples * squares_about(of_seeds, mean) / seeds_df;
  const double by_example = seeds * squares_about(of_examples, mean) / examples_df;
  rest /= rest_df;
  const double count = seeds * examples;
  const double both = by_seed + by_example - rest;
  if (both > std::max(by_seed, by_example)) {
    const double df = both * both /
                      (by_seed * by_seed / seeds_df + by_example * by_example / examples_df +
                       rest * rest / rest_df);
    return {mean, both / count, df};
  }
  return by_seed > by_example ? Estimate{mean, by_seed / count, seeds_df}
                              : Estimate{mean, by_example / count, examples_df};
}

/// Whether the sum of `values`, some signs turned, is as far from 0 as `observed`: sums of the same
/// numbers in another order differ in their last bits.
bool as_far(double sum, double observed) {
  return std::abs(sum) >= std::abs(observed) * (1 - 1e-12);
}

/// The sign-flip permutation test of mean 0 (Fisher 1935); all flips when they are few.
double flip_test(std::span<const double> all, const CompareOptions& options) {
  std::vector<double> values;
  for (const double value : all) {
    if (value != 0) values.push_back(value);  // no sign to flip
  }
  const double observed = std::accumulate(values.begin(), values.end(), 0.0);
  const auto flipped = [&](auto&& negative) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += negative(i) ? -values[i] : values[i];
    return as_far(sum, observed);
  };
  constexpr std::size_t kFew = 12;
  if (values.size() <= kFew) {
    const std::size_t ways = std::size_t{1} << values.size();
    std::size_t far = 0;
    for (std::size_t signs = 0; signs < ways; ++signs)
      far += flipped([&](std::size_t i) { return (signs >> i & 1) != 0; });
    return static_cast<double>(far) / static_cast<double>(ways);
  }
  Random random(options.seed);
  std::size_t far = 0;
  for (std::size_t r = 0; r < options.flips; ++r) {
    std::uint64_t bits = 0;
    far += flipped([&](std::size_t i) {
      if (i % 64 == 0) bits = random.next();
      return (bits >> (i % 64) & 1) != 0;
    });
  }
  return static_cast<double>(far + 1) / static_cast<double>(options.flips + 1);
}

}  // namespace

Interval mean_interval(std::span<const double> values, double confidence) {
  if (values.empty()) return {kNone, kNone, kNone};
  if (values.size() == 1) return {values[0], kNone, kNone};
  return estimate(values).interval(confidence);
}

std::vector<double> segment_scores(const Metric& metric) {
  constexpr std::size_t kMostLeftOut = 20000;  // every one costs a pass over all
  if (!metric.resample || metric.segments == 0) return {};
  const std::size_t n = metric.segments;
  std::vector<double> alone(n);
  for (std::size_t i = 0; i < n; ++i) alone[i] = metric.resample(std::span(&i, 1));
  if (std::abs(mean_of(alone) - metric.value) <= 1e-9 * std::max(1.0, std::abs(metric.value)))
    return alone;
  if (n < 2 || n > kMostLeftOut) return {};
  std::vector<std::size_t> others(n - 1);
  std::iota(others.begin(), others.end(), std::size_t{1});
  std::vector<double> pseudo(n);
  const auto count = static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) others[i - 1] = i - 1;  // 0 … i − 1, i + 1 … n − 1
    pseudo[i] = count * metric.value - (count - 1) * metric.resample(others);
  }
  return pseudo;
}

CrossedComparison compare_crossed(const SeedScores& a, const SeedScores& b,
                                  const CompareOptions& options) {
  const SeedScores table = differences(a, b);
  const std::size_t seeds = table.size(), examples = table[0].size();
  std::vector<double> of_seeds, of_examples(examples);
  for (const std::vector<double>& row : table) {
    of_seeds.push_back(mean_of(row));
    for (std::size_t i = 0; i < examples; ++i)
      of_examples[i] += row[i] / static_cast<double>(seeds);
  }
  if (examples < 2) return {{mean_of(of_seeds), kNone, kNone}, 0, kNone, kNone, kNone};
  const Estimate whole = seeds > 1 ? crossed(table, of_seeds, of_examples) : estimate(of_examples);
  CrossedComparison result{.difference = whole.interval(options.confidence),
                           .df = whole.df,
                           .p_value = whole.p_value(),
                           .p_examples = flip_test(of_examples, options),
                           .p_seeds = seeds > 1 ? estimate(of_seeds).p_value() : kNone};
  // Every seed and example differs by the same: t is infinite, but examples are still few or many.
  if (whole.variance == 0) result.p_value = result.p_examples;
  return result;
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> result(p_values.begin(), p_values.end());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto left = static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, left * p_values[order[rank]]));
    result[order[rank]] = largest;
  }
  return result;
}

}  // namespace heed::metrics
