#include "heed/metrics/rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "heed/base/error.hpp"

namespace heed::metrics {
namespace {

void check(std::span<const double> a, std::span<const double> b) {
  HEED_CHECK(a.size() == b.size(), "rank agreement: {} values against {}", a.size(), b.size());
  const auto is_nan = [](double x) { return std::isnan(x); };
  HEED_CHECK(std::ranges::none_of(a, is_nan) && std::ranges::none_of(b, is_nan),
             "rank agreement: NaN has no rank");
}

double pairs(double n) { return n * (n - 1) / 2; }

/// Pairs inside runs of equal neighbours.
template <class Equal>
double tied_pairs(std::span<const std::size_t> order, Equal equal) {
  double tied = 0;
  for (std::size_t start = 0, i = 1; i <= order.size(); ++i) {
    if (i < order.size() && equal(order[start], order[i])) continue;
    tied += pairs(static_cast<double>(i - start));
    start = i;
  }
  return tied;
}

/// Sorts `values` by merging and counts the exchanges a bubble sort would need.
double count_exchanges(std::span<double> values) {
  std::vector<double> merged(values.size());
  double exchanges = 0;
  for (std::size_t width = 1; width < values.size(); width *= 2) {
    for (std::size_t start = 0; start < values.size(); start += 2 * width) {
      const std::size_t middle = std::min(start + width, values.size());
      const std::size_t end = std::min(start + 2 * width, values.size());
      for (std::size_t left = start, right = middle, out = start; out < end; ++out) {
        const bool take_left = left < middle && (right >= end || values[left] <= values[right]);
        if (!take_left) exchanges += static_cast<double>(middle - left);
        merged[out] = take_left ? values[left++] : values[right++];
      }
    }
    std::ranges::copy(merged, values.begin());
  }
  return exchanges;
}

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> result(values.size());
  for (std::size_t start = 0, i = 1; i <= order.size(); ++i) {
    if (i < order.size() && values[order[start]] == values[order[i]]) continue;
    for (std::size_t k = start; k < i; ++k)
      result[order[k]] = static_cast<double>(start + i - 1) / 2;
    start = i;
  }
  return result;
}

}  // namespace

std::optional<double> kendall_tau(std::span<const double> a, std::span<const double> b) {
  check(a, b);
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t i, std::size_t j) {
    return a[i] != a[j] ? a[i] < a[j] : b[i] < b[j];
  });
  const double tied_a = tied_pairs(order, [&](auto i, auto j) { return a[i] == a[j]; });
  const double tied_both =
      tied_pairs(order, [&](auto i, auto j) { return a[i] == a[j] && b[i] == b[j]; });
  std::vector<double> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.push_back(b[i]);
  const double discordant = count_exchanges(sorted);
  std::ranges::sort(order, {}, [&](std::size_t i) { return b[i]; });
  const double tied_b = tied_pairs(order, [&](auto i, auto j) { return b[i] == b[j]; });

  const double all = pairs(static_cast<double>(a.size()));
  if (all == tied_a || all == tied_b) return std::nullopt;
  const double difference = all - tied_a - tied_b + tied_both - 2 * discordant;
  const double tau = difference / std::sqrt(all - tied_a) / std::sqrt(all - tied_b);
  return std::clamp(tau, -1.0, 1.0);  // the two roots may round past it
}

std::optional<double> spearman_rho(std::span<const double> a, std::span<const double> b) {
  check(a, b);
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return std::clamp(xy / std::sqrt(xx) / std::sqrt(yy), -1.0, 1.0);
}

}  // namespace heed::metrics
