#include "heed/kernels/peak.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peak.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Billions of float operations a second of one thread: ten independent chains of multiply-adds.
/// Each value depends on the one before by a rounded operation, which the compiler may not reorder
/// or fold, each chain starts elsewhere, as equal ones would be computed once, and the sum of all
/// is used; callers reject a rate no machine has.
double peak_impl() {
  const hn::ScalableTag<float> d;
  constexpr int kChains = 10;
  constexpr std::int64_t kRounds = 2'000'000;
  const auto factor = hn::Set(d, 0.999f), add = hn::Set(d, 0.001f);
  const auto from = [&](float x) HWY_ATTR { return hn::Set(d, x); };
  auto a0 = from(0.0f), a1 = from(0.1f), a2 = from(0.2f), a3 = from(0.3f), a4 = from(0.4f),
       a5 = from(0.5f), a6 = from(0.6f), a7 = from(0.7f), a8 = from(0.8f), a9 = from(0.9f);
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < kRounds; ++i) {
    a0 = hn::MulAdd(a0, factor, add), a1 = hn::MulAdd(a1, factor, add);
    a2 = hn::MulAdd(a2, factor, add), a3 = hn::MulAdd(a3, factor, add);
    a4 = hn::MulAdd(a4, factor, add), a5 = hn::MulAdd(a5, factor, add);
    a6 = hn::MulAdd(a6, factor, add), a7 = hn::MulAdd(a7, factor, add);
    a8 = hn::MulAdd(a8, factor, add), a9 = hn::MulAdd(a9, factor, add);
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  const auto sum = hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)),
                           hn::Add(hn::Add(a4, a5), hn::Add(hn::Add(a6, a7), hn::Add(a8, a9))));
  volatile float used = hn::GetLane(hn::SumOfLanes(d, sum));
  static_cast<void>(used);
  return 2.0 * kChains * static_cast<double>(kRounds) * static_cast<double>(hn::Lanes(d)) /
         time.count() / 1e9;
}

/// Billions of bytes a second that one thread reads from `count` floats, more than the caches hold.
double bandwidth_impl(const float* data, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = a, c = a, e = a;
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, data + i)), b = hn::Add(b, hn::LoadU(d, data + i + lanes));
    c = hn::Add(c, hn::LoadU(d, data + i + 2 * lanes));
    e = hn::Add(e, hn::LoadU(d, data + i + 3 * lanes));
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  volatile float used = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  static_cast<void>(used);
  return static_cast<double>(count) * 4 / time.count() / 1e9;
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(peak_impl);
HWY_EXPORT(bandwidth_impl);

double read_peak() {
  const std::vector<float> data(std::size_t{64} << 20, 1.0f);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    best = std::max(best, HWY_DYNAMIC_DISPATCH(bandwidth_impl)(
                              data.data(), static_cast<std::int64_t>(data.size())));
  }
  return best;
}

double multiply_add_peak() {
  double best = 0;
  for (int i = 0; i < 5; ++i) best = std::max(best, HWY_DYNAMIC_DISPATCH(peak_impl)());
  return best;
}
}  // namespace heed::kernels
#endif
