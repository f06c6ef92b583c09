// The one matrix product of the attention kernels, compiled per target.
#if defined(HEED_KERNELS_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_TILE_INL
#undef HEED_KERNELS_TILE_INL
#else
#define HEED_KERNELS_TILE_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/amx-inl.hpp"
#include "kernels/pairs-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators of the register tile: kRows broadcast rows by kVectors vectors. 16 registers hold
// 6 x 2 with room for two vectors and a broadcast; AVX-512 has 32.
constexpr int kRows = 6;
#if HWY_TARGET == HWY_AVX3
constexpr int kVectors = 4;
#else
constexpr int kVectors = 2;
#endif

/// An operand read one element at a time: element (row, step) is at[row * row_stride + step *
/// step_stride].
template <class E>
struct Broadcast {
  const E* at;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t step_stride;
};

/// sink(r, v, sum) for r < R, v < NV, with sum = Σ_t a(r, t) * vectors[t * step + v * Lanes ...].
///
/// Elements are numbers of the working type, or pairs. Each sum is one chain of multiply-adds in
/// the order of t: its bits do not depend on R or NV.
template <int R, int NV, class DF, class E, class Sink>
HWY_INLINE void multiply_tile(DF d, Broadcast<E> a, const E* HWY_RESTRICT vectors,
                              std::ptrdiff_t step, std::int64_t steps, Sink&& sink) {
  using V = hn::Vec<DF>;
  const std::size_t lanes = hn::Lanes(d);
  V sum[R][NV];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sum[r][v] = hn::Zero(d);
  }
  // Two bases, so that every address is base + {0, 1, 2} * stride, which x86 encodes directly.
  const E* low = a.at;
  const E* high = a.at + 3 * a.row_stride;
  for (std::int64_t t = 0; t < steps; ++t) {
    V b[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      b[v] = load_elements(d, vectors + static_cast<std::size_t>(v) * lanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const E* at = r < 3 ? low + r * a.row_stride : high + (r - 3) * a.row_stride;
      const V factor = spread_element(d, at);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sum[r][v] = add_product<E>(factor, b[v], sum[r][v]);
    }
    low += a.step_stride;
    high += a.step_stride;
    vectors += step;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sink(r, v, sum[r][v]);
  }
}

/// multiply_tile over any number of rows, or the same in the tiles of AMX; sink gets the row in the
/// whole.
template <int NV, class DF, class E, class Sink>
HWY_INLINE void multiply(DF d, std::int64_t rows, Broadcast<E> a, const E* HWY_RESTRICT vectors,
                         std::ptrdiff_t step, std::int64_t steps, Sink&& sink) {
  if constexpr (kHasTiles && std::is_same_v<E, Pair>) {
    if (tile_products()) {
      return multiply_in_tiles<NV>(d, rows, a.at, a.row_stride, a.step_stride, vectors, step, steps,
                                   sink);
    }
  }
  std::int64_t row = 0;
  const auto run = [&](auto height) HWY_ATTR {
    constexpr int R = decltype(height)::value;
    const std::int64_t first = row;
    multiply_tile<R, NV>(
        d, Broadcast<E>{a.at + first * a.row_stride, a.row_stride, a.step_stride}, vectors, step,
        steps, [&sink, first](int r, int v, auto sum) HWY_ATTR { sink(first + r, v, sum); });
    row += R;
  };
  while (rows - row >= kRows + 4 || rows - row == kRows) {
    run(std::integral_constant<int, kRows>());
  }
  // What is left, 1 to 5 or 7 to 9 rows, in tiles of four and five where it can: lower ones cannot
  // hide the latency of the multiply-add.
  if (rows - row >= kRows) run(std::integral_constant<int, 4>());
  switch (rows - row) {
    case 5:
      return run(std::integral_constant<int, 5>());
    case 4:
      return run(std::integral_constant<int, 4>());
    case 3:
      return run(std::integral_constant<int, 3>());
    case 2:
      return run(std::integral_constant<int, 2>());
    case 1:
      return run(std::integral_constant<int, 1>());
    default:
      return;
  }
}

/// Calls f with the number of vectors as a compile-time constant.
template <class F>
HWY_INLINE void with_vectors(std::int64_t vectors, F&& f) {
  if (vectors == 1) return f(std::integral_constant<int, 1>());
  if constexpr (kVectors > 2) {
    if (vectors > 2) return f(std::integral_constant<int, kVectors>());
  }
  f(std::integral_constant<int, 2>());
}

/// Numbers that a row takes in whole vectors.
template <class T>
std::int64_t padded(std::int64_t n) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  return (n + lanes - 1) / lanes * lanes;
}

/// sink(row, column, sum) over whole vectors of columns, with sum = Σ_t a(row, t) * b[t * stride +
/// column ...].
template <class E, class Sink>
HWY_INLINE void product(std::int64_t rows, Broadcast<E> a, const E* b, std::ptrdiff_t stride,
                        std::int64_t steps, std::int64_t columns, Sink&& sink) {
  const hn::ScalableTag<Working<E>> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t c = 0; c < columns;) {
    const std::int64_t left = (columns - c) / lanes;
    const auto run = [&](auto vectors) HWY_ATTR {
      multiply<vectors.value>(d, rows, a, b + c, stride, steps,
                              [&sink, c, lanes](std::int64_t r, int v, auto sum)
                                  HWY_ATTR { sink(r, c + v * lanes, sum); });
      c += vectors.value * lanes;
    };
    with_vectors(left >= kVectors ? kVectors : left >= 2 ? 2 : 1, run);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
