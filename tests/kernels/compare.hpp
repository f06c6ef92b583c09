#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/support.hpp"

namespace heed::kernels::testing {

/// Compares element by element; NaN and infinity must match. Names the first that differs and
/// counts the others.
template <class Got, class Want>
void expect_close(const std::string& what, std::int64_t size, Got got, Want want, double relative) {
  std::int64_t wrong = 0, first = -1;
  double largest = 1;
  for (std::int64_t i = 0; i < size; ++i) {
    if (std::isfinite(want(i))) largest = std::max(largest, std::abs(want(i)));
  }
  for (std::int64_t i = 0; i < size; ++i) {
    const double a = got(i), b = want(i);
    const bool same = std::isnan(b)   ? std::isnan(a)
                      : std::isinf(b) ? a == b
                                      : std::abs(a - b) <= relative * largest;
    if (same) continue;
    if (first < 0) first = i;
    ++wrong;
  }
  EXPECT_EQ(wrong, 0) << what << ": first at " << first << ", got " << (first < 0 ? 0 : got(first))
                      << ", want " << (first < 0 ? 0 : want(first));
}

/// What a test allows in units of the largest value: a few roundings of the type.
inline double tolerance(Type type) {
  switch (type) {
    case Type::float64:
      return 1e-12;
    case Type::float32:
      return 2e-5;
    case Type::bfloat16:
      return 1e-2;
    case Type::float16:
      return 2e-3;
  }
  return 0;
}

/// Root of the mean square, and the largest, of the errors of `got` against `want`.
struct Errors {
  double square = 0, largest = 0, scale = 0;
  std::int64_t count = 0;
  void add(double got, double want) {
    const double error = std::abs(got - want);
    square += error * error;
    largest = std::max(largest, error);
    scale = std::max(scale, std::abs(want));
    ++count;
  }
  double rms() const { return std::sqrt(square / static_cast<double>(count)); }
};

/// Rule 10 of the contract: at most twice the plain formula's error in the same type, the maximum
/// with a floor of one unit in the last place.
inline void expect_rule_10(const std::string& what, const Errors& ours, const Errors& plain,
                           double unit) {
  EXPECT_GE(ours.count, 100'000) << what;
  EXPECT_LE(ours.rms(), 2 * plain.rms()) << what;
  EXPECT_LE(ours.largest, std::max(2 * plain.largest, unit * ours.scale)) << what;
}

}  // namespace heed::kernels::testing
