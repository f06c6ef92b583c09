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

/// What runs of n equal values take from the pairs, and from the variance of their exchanges.
struct Ties {
  double pairs = 0;    // Σ n (n − 1) / 2
  double triples = 0;  // Σ n (n − 1) (n − 2)
  double spread = 0;   // Σ n (n − 1) (2 n + 5)
};

/// Runs of equal neighbours.
template <class Equal>
Ties count_ties(std::span<const std::size_t> order, Equal equal) {
  Ties ties;
  for (std::size_t start = 0, i = 1; i <= order.size(); ++i) {
    if (i < order.size() && equal(order[start], order[i])) continue;
    const auto n = static_cast<double>(i - start);
    ties.pairs += pairs(n);
    ties.triples += n * (n - 1) * (n - 2);
    ties.spread += n * (n - 1) * (2 * n + 5);
    start = i;
  }
  return ties;
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

/// What τ and its chance are made of.
struct PairCounts {
  double discordant = 0;
  Ties in_a, in_b, in_both;
};

PairCounts count_pairs(std::span<const double> a, std::span<const double> b) {
  check(a, b);
  PairCounts counts;
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t i, std::size_t j) {
    return a[i] != a[j] ? a[i] < a[j] : b[i] < b[j];
  });
  counts.in_a = count_ties(order, [&](auto i, auto j) { return a[i] == a[j]; });
  counts.in_both = count_ties(order, [&](auto i, auto j) { return a[i] == a[j] && b[i] == b[j]; });
  std::vector<double> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.push_back(b[i]);
  counts.discordant = count_exchanges(sorted);
  std::ranges::sort(order, {}, [&](std::size_t i) { return b[i]; });
  counts.in_b = count_ties(order, [&](auto i, auto j) { return b[i] == b[j]; });
  return counts;
}

/// Concordant pairs less discordant ones.
double surplus(const PairCounts& c, double all) {
  return all - c.in_a.pairs - c.in_b.pairs + c.in_both.pairs - 2 * c.discordant;
}

/// The share of the orders of n values that are as many exchanges from a sorted or a reversed one
/// as these, or fewer; `exchanges` at most half the pairs.
double exact_chance(std::size_t n, std::size_t exchanges) {
  std::vector<double> share(exchanges + 1, 0.0);  // of the orders of m values, by exchanges
  share[0] = 1;
  for (std::size_t m = 2; m <= n; ++m) {
    std::vector<double> next(exchanges + 1, 0.0);
    double window = 0;  // the m-th value stands before 0 … m − 1 of the others
    for (std::size_t e = 0; e <= exchanges; ++e) {
      window += share[e];
      if (e >= m) window -= share[e - m];
      next[e] = std::max(0.0, window) / static_cast<double>(m);
    }
    share = next;
  }
  return std::min(1.0, 2 * std::accumulate(share.begin(), share.end(), 0.0));
}

}  // namespace

std::optional<double> kendall_tau(std::span<const double> a, std::span<const double> b) {
  const PairCounts counts = count_pairs(a, b);
  const double all = pairs(static_cast<double>(a.size()));
  if (all == counts.in_a.pairs || all == counts.in_b.pairs) return std::nullopt;
  const double tau = surplus(counts, all) / std::sqrt(all - counts.in_a.pairs) /
                     std::sqrt(all - counts.in_b.pairs);
  return std::clamp(tau, -1.0, 1.0);  // the two roots may round past it
}

double kendall_p_value(std::span<const double> a, std::span<const double> b) {
  const PairCounts counts = count_pairs(a, b);
  const auto n = static_cast<double>(a.size());
  const double all = pairs(n);
  if (all == counts.in_a.pairs || all == counts.in_b.pairs) return 1;
  const double exchanges = std::min(counts.discordant, all - counts.discordant);
  const bool ties = counts.in_a.pairs > 0 || counts.in_b.pairs > 0;
  if (!ties && (a.size() <= 33 || exchanges <= 1)) {
    // Just as many of each: every order is at least as far from 0.
    if (2 * counts.discordant == all) return 1;
    return exact_chance(a.size(), static_cast<std::size_t>(exchanges));
  }
  const double base = n * (n - 1) * (2 * n + 5);
  double variance = (base - counts.in_a.spread - counts.in_b.spread) / 18 +
                    2 * counts.in_a.pairs * counts.in_b.pairs / (n * (n - 1));
  if (n > 2) variance += counts.in_a.triples * counts.in_b.triples / (9 * n * (n - 1) * (n - 2));
  return std::erfc(std::abs(surplus(counts, all)) / std::sqrt(2 * variance));
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
