// Sums of rows weighted by a panel, with rows behind a mask left out. Compiled per target.
#if defined(HEED_KERNELS_CONTEXT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CONTEXT_INL
#undef HEED_KERNELS_CONTEXT_INL
#else
#define HEED_KERNELS_CONTEXT_INL
#endif

#include <hwy/highway.h>

#include "kernels/scores-inl.hpp"
#include "kernels/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// sums[c][lane] = sums[c][lane] * keep[lane] + Σ_r weights[r][lane] * rows[r][c].
///
/// weights: `count` rows of NV vectors, `pitch` apart, of numbers or of pairs, whose rows hold two
/// keys each; sums: [width] rows, `sum_pitch` apart. The new terms are
/// added among themselves first, so an old sum is rounded once a block, not once a row. `fresh`:
/// there are no old sums.
template <int NV, class E, class T>
HWY_INLINE void add_weighted_rows(const E* weights, std::int64_t pitch, Rows<E> rows,
                                  std::int64_t count, std::int64_t width,
                                  hn::Vec<hn::ScalableTag<T>> (&keep)[NV], T* sums,
                                  std::int64_t sum_pitch, bool fresh = false) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  multiply<NV>(d, width, Broadcast<E>{rows.at, 1, rows.stride}, weights, pitch, count,
               [=, &keep](std::int64_t c, int v, auto sum) HWY_ATTR {
                 T* at = sums + c * sum_pitch + v * lanes;
                 hn::Store(fresh ? sum : hn::MulAdd(hn::Load(d, at), keep[v], sum), d, at);
               });
}

/// The same when some rows are not finite: these reach only the lanes whose weight is not 0, and,
/// where `valid` lane masks of pitch NV * Lanes are given, those that the mask lets through.
template <int NV, class T>
void add_weighted_rows_guarded(const T* weights, std::int64_t pitch, const T* valid,
                               const std::uint8_t* bad, Rows<T> rows, std::int64_t count,
                               std::int64_t width, hn::Vec<hn::ScalableTag<T>> (&keep)[NV], T* sums,
                               std::int64_t sum_pitch) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<hn::ScalableTag<T>> all[NV];
  for (int v = 0; v < NV; ++v) all[v] = keep[v];
  for (std::int64_t r = 0; r < count;) {
    std::int64_t good = r;
    while (good < count && !bad[good]) ++good;
    add_weighted_rows<NV>(weights + r * pitch, pitch,
                          Rows<T>{rows.at + r * rows.stride, rows.stride}, good - r, width, all,
                          sums, sum_pitch);
    for (int v = 0; v < NV; ++v) all[v] = hn::Set(d, T{1});
    for (r = good; r < count && bad[r]; ++r) {
      const T* row = rows.at + r * rows.stride;
      for (int v = 0; v < NV; ++v) {
        const auto weight = hn::Load(d, weights + r * pitch + v * lanes);
        const auto seen = valid != nullptr
                              ? hn::MaskFromVec(hn::Load(d, valid + (r * NV + v) * lanes))
                              : hn::Ne(weight, hn::Zero(d));
        for (std::int64_t c = 0; c < width; ++c) {
          T* at = sums + c * sum_pitch + v * lanes;
          const auto old = hn::Load(d, at);
          hn::Store(hn::IfThenElse(seen, hn::MulAdd(weight, hn::Set(d, row[c]), old), old), d, at);
        }
      }
    }
  }
}

/// sums[r][c] += Σ_q weights[r][q] * rows[q][c], the sum over the other axis of the tile.
///
/// weights: `count` rows, `pitch` apart; sums: as many, `width` apart; rows: `queries` of them,
/// also `width` apart; elements of weights and rows may be pairs, of two queries. `width` is a
/// multiple of the lanes. Where `bad` flags a row of `rows`, it reaches only the sums whose weight
/// is not 0; null: all are finite.
template <class E, class T = Working<E>>
void add_tile_products(const E* weights, std::int64_t pitch, std::int64_t count, const E* rows,
                       std::int64_t queries, std::int64_t width, const std::uint8_t* bad, T* sums) {
  const hn::ScalableTag<T> d;
  const auto segment = [&](std::int64_t from, std::int64_t to) HWY_ATTR {
    product(count, Broadcast<E>{weights + from, pitch, 1}, rows + from * width, width, to - from,
            width, [=](std::int64_t r, std::int64_t c, auto sum) HWY_ATTR {
              T* at = sums + r * width + c;
              hn::Store(hn::Add(hn::Load(d, at), sum), d, at);
            });
  };
  if (bad == nullptr) return segment(0, queries);
  if constexpr (std::is_same_v<E, T>) {
    for (std::int64_t q = 0; q < queries;) {
      std::int64_t good = q;
      while (good < queries && !bad[good]) ++good;
      segment(q, good);
      for (q = good; q < queries && bad[q]; ++q) {
        for (std::int64_t r = 0; r < count; ++r) {
          const T weight = weights[r * pitch + q];
          if (weight == T{0}) continue;
          for (std::int64_t c = 0; c < width; ++c)
            sums[r * width + c] += weight * rows[q * width + c];
        }
      }
    }
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
