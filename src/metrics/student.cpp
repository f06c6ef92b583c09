#include "heed/metrics/student.hpp"

#include <cmath>
#include <limits>

namespace heed::metrics {
namespace {

/// The continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz' method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kClose = 1e-16;
  constexpr int kMostTerms = 10000;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    value *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    value *= c * d;
    if (std::abs(c * d - 1) < kClose) break;
  }
  return value;
}

/// I_x(a, b); `y` is 1 − x, given apart because near 1 the difference has no digits left.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(y));
  // The fraction converges fast on this side only; the other is its mirror image.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, y) / b;
}

}  // namespace

double student_two_sided(double t, double df) {
  if (std::isnan(t) || !(df > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(t)) return 0;
  const double square = t * t;
  return incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square));
}

double student_critical(double confidence, double df) {
  if (!(confidence > 0 && confidence < 1) || !(df > 0))
    return std::numeric_limits<double>::quiet_NaN();
  double low = 0, high = 1;
  while (student_two_sided(high, df) > 1 - confidence) high *= 2;
  constexpr int kHalvings = 100;
  for (int i = 0; i < kHalvings && low < high; ++i) {
    const double middle = (low + high) / 2;
    (student_two_sided(middle, df) > 1 - confidence ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace heed::metrics
