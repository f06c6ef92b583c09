// What an alignment needs of a whole row of scores: thresholds, chosen keys, sums. Queries lie in
// lanes, so a vector of rows is solved at once. Compiled per target.
#if defined(HEED_KERNELS_ROW_STATE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ROW_STATE_INL
#undef HEED_KERNELS_ROW_STATE_INL
#else
#define HEED_KERNELS_ROW_STATE_INL
#endif

#include <hwy/highway.h>

#include <limits>

#include "kernels/align-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A vector of rows of scores: those of key `key + r` are at[r * pitch ...], -inf where masked.
template <class T>
struct Strip {
  const T* at;
  std::int64_t pitch, key, count;
};

/// The rows of a strip as vectors.
template <class T>
struct RowVectors {
  using V = hn::Vec<hn::ScalableTag<T>>;
  V top, divide, mark, limit;
};

/// The threshold of sparsemax or entmax: the mark where the weights sum to 1.
///
/// Newton's method from the left; for alpha <= 2 the sum is convex in the mark, so it never
/// overshoots and stops when rounding lets it go no further. Else by halving. `candidates`: room
/// for the strip; only scores within 1 / (alpha - 1) of the largest can have weight.
template <Align kind, class T>
void solve_threshold(const AlignSetup<T>& a, const Strip<T>& strip, T* candidates,
                     RowVectors<T>& rows) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V zero = hn::Zero(d), one = hn::Set(d, T{1}), lowest = hn::Set(d, T{-1});
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < strip.count; ++r) {
    const V score = hn::Load(d, strip.at + r * strip.pitch);
    const V z = hn::Mul(hn::Sub(score, rows.top), hn::Set(d, a.rate));
    if (!hn::AllFalse(d, hn::Gt(z, lowest))) hn::Store(z, d, candidates + count++ * lanes);
  }
  V mark = lowest, sum = zero, slope = zero;
  const auto evaluate = [&](V at) HWY_ATTR {
    sum = slope = zero;
    for (std::int64_t i = 0; i < count; ++i) {
      const V x = hn::Max(hn::Sub(hn::Load(d, candidates + i * lanes), at), zero);
      const V p = entmax_power<kind>(d, a, x);
      sum = hn::Add(sum, p);
      if constexpr (kind == Align::sparsemax) {
        slope = hn::Add(slope, hn::IfThenElseZero(hn::Gt(x, zero), one));
      } else if constexpr (kind == Align::entmax15) {
        slope = hn::Add(slope, hn::Add(x, x));
      } else {
        const V fall = hn::Div(p, hn::Mul(x, hn::Set(d, a.rate)));
        slope = hn::Add(slope, hn::IfThenElseZero(hn::Gt(x, zero), fall));
      }
    }
  };
  if (a.rate <= T{1}) {
    for (int step = 0;; ++step) {
      evaluate(mark);
      const V next = hn::Add(mark, hn::Div(hn::Sub(sum, one), slope));
      const auto further = hn::And(hn::Gt(slope, zero), hn::Gt(next, mark));
      if (step == 100 || hn::AllFalse(d, further)) break;
      mark = hn::IfThenElse(further, next, mark);
    }
  } else {
    V high = zero;
    for (int step = 0; step < (sizeof(T) == 8 ? 60 : 30); ++step) {
      const V middle = hn::Mul(hn::Add(mark, high), hn::Set(d, T{0.5}));
      evaluate(middle);
      const auto enough = hn::Ge(sum, one);
      mark = hn::IfThenElse(enough, middle, mark);
      high = hn::IfThenElse(enough, high, middle);
    }
    evaluate(mark);
  }
  rows.mark = mark;
  rows.divide = hn::IfThenElseZero(hn::Gt(sum, zero), hn::Div(one, sum));
}

/// Σ of e^(score - top) over the keys that `take` lets through, in the order of the keys.
template <class T, class Take>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> sum_exponentials(const AlignSetup<T>& a,
                                                        const Strip<T>& strip,
                                                        hn::Vec<hn::ScalableTag<T>> top,
                                                        Take&& take) {
  const hn::ScalableTag<T> d;
  auto sum = hn::Zero(d);
  for (std::int64_t r = 0; r < strip.count; ++r) {
    const auto score = hn::Load(d, strip.at + r * strip.pitch);
    const auto key = hn::Set(d, static_cast<T>(strip.key + r));
    const auto p = exp2_softmax(d, hn::Mul(hn::Sub(score, top), hn::Set(d, a.log2e)));
    sum = hn::Add(sum, hn::IfThenElseZero(take(score, key), p));
  }
  return sum;
}

template <class T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> reciprocal_or_zero(hn::Vec<hn::ScalableTag<T>> x) {
  const hn::ScalableTag<T> d;
  return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Div(hn::Set(d, T{1}), x));
}

/// The k-th largest score of each row, by halving the range of the numbers' bit patterns, which lie
/// in the same order; then the last key among those that tie with it.
template <class T>
void solve_top_k(const AlignSetup<T>& a, const Strip<T>& strip, std::int64_t k,
                 RowVectors<T>& rows) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const hn::RebindToSigned<decltype(d)> di;
  using I = hn::Vec<decltype(di)>;
  using Whole = hn::TFromD<decltype(di)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V lowest = hn::Set(d, -std::numeric_limits<T>::infinity()), one = hn::Set(d, T{1});
  const auto flip = [&](I x) HWY_ATTR {  // its own inverse
    const I sign = hn::BroadcastSignBit(x);
    return hn::Xor(x, hn::And(sign, hn::Set(di, std::numeric_limits<Whole>::max())));
  };
  const auto count_if = [&](auto&& test) HWY_ATTR {
    V count = hn::Zero(d);
    for (std::int64_t r = 0; r < strip.count; ++r) {
      const V score = hn::Load(d, strip.at + r * strip.pitch);
      count = hn::Add(count, hn::IfThenElseZero(test(score), one));
    }
    return count;
  };
  const V valid = count_if([&](V s) HWY_ATTR { return hn::Gt(s, lowest); });
  const V wanted = hn::Min(valid, hn::Set(d, static_cast<T>(k)));
  I low = flip(hn::BitCast(di, hn::Set(d, std::numeric_limits<T>::lowest())));
  I high = hn::Add(flip(hn::BitCast(di, rows.top)), hn::Set(di, Whole{1}));
  V taken = valid;  // scores >= low
  for (int step = 0; step < static_cast<int>(8 * sizeof(T)); ++step) {
    // The average without overflow.
    const I middle = hn::Add(hn::And(low, high), hn::ShiftRight<1>(hn::Xor(low, high)));
    const auto open = hn::And(hn::RebindMask(d, hn::Gt(middle, low)), hn::Gt(taken, wanted));
    if (hn::AllFalse(d, open)) break;
    const V at = hn::BitCast(d, flip(middle));
    const V count = count_if([&](V s) HWY_ATTR { return hn::Ge(s, at); });
    const auto enough = hn::And(open, hn::Ge(count, wanted));
    const auto few = hn::And(open, hn::Lt(count, wanted));
    taken = hn::IfThenElse(enough, count, taken);
    low = hn::IfThenElse(hn::RebindMask(di, enough), middle, low);
    high = hn::IfThenElse(hn::RebindMask(di, few), middle, high);
  }
  rows.mark = hn::BitCast(d, flip(low));
  rows.limit = hn::Set(d, static_cast<T>(strip.key + strip.count));
  const V mark = rows.mark;
  const V above = count_if([&](V s) HWY_ATTR { return hn::Gt(s, mark); });
  HWY_ALIGN T marks[HWY_MAX_BYTES / sizeof(T)], limits[HWY_MAX_BYTES / sizeof(T)];
  HWY_ALIGN T ties[HWY_MAX_BYTES / sizeof(T)], excess[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(mark, d, marks), hn::Store(rows.limit, d, limits);
  hn::Store(hn::Sub(wanted, above), d, ties), hn::Store(hn::Sub(taken, wanted), d, excess);
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    if (!(excess[lane] > T{0})) continue;
    for (std::int64_t r = 0; r < strip.count && ties[lane] > T{0}; ++r) {
      if (strip.at[r * strip.pitch + lane] != marks[lane]) continue;
      ties[lane] -= T{1};
      limits[lane] = static_cast<T>(strip.key + r);
    }
  }
  const V limit = rows.limit = hn::Load(d, limits);
  const V sum = sum_exponentials(a, strip, rows.top, [&](V score, V key) HWY_ATTR {
    return hn::Or(hn::Gt(score, mark), hn::And(hn::Eq(score, mark), hn::Le(key, limit)));
  });
  rows.divide = reciprocal_or_zero<T>(sum);
}

/// The key of each row: the first of the largest scores, or the first whose running sum passes
/// `uniform` (one number of [0, 1) a lane) of the whole.
template <class T>
void solve_hard(const AlignSetup<T>& a, const Strip<T>& strip, const T* uniform,
                RowVectors<T>& rows) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const V lowest = hn::Set(d, -std::numeric_limits<T>::infinity()), zero = hn::Zero(d);
  const V sum = sum_exponentials(a, strip, rows.top,
                                 [&](V score, V) HWY_ATTR { return hn::Gt(score, lowest); });
  rows.divide = reciprocal_or_zero<T>(sum);
  const V minus_one = hn::Set(d, T{-1});
  V chosen = minus_one;
  if (uniform == nullptr) {
    for (std::int64_t r = 0; r < strip.count; ++r) {
      const V score = hn::Load(d, strip.at + r * strip.pitch);
      const auto first = hn::And(hn::Eq(score, rows.top), hn::Eq(chosen, minus_one));
      chosen = hn::IfThenElse(first, hn::Set(d, static_cast<T>(strip.key + r)), chosen);
    }
  } else {
    const V target = hn::Mul(sum, hn::Load(d, uniform));
    V running = zero, last = minus_one;
    for (std::int64_t r = 0; r < strip.count; ++r) {
      const V score = hn::Load(d, strip.at + r * strip.pitch);
      const V p = exp2_softmax(d, hn::Mul(hn::Sub(score, rows.top), hn::Set(d, a.log2e)));
      const V key = hn::Set(d, static_cast<T>(strip.key + r));
      running = hn::Add(running, p);
      last = hn::IfThenElse(hn::Gt(p, zero), key, last);
      const auto first = hn::And(hn::Gt(running, target), hn::Eq(chosen, minus_one));
      chosen = hn::IfThenElse(first, key, chosen);
    }
    chosen = hn::IfThenElse(hn::Eq(chosen, minus_one), last, chosen);  // the target was rounded up
  }
  rows.mark = chosen;
}

/// Largest score and sum inside the window of each row; `mark` holds the centers.
template <class T>
void solve_local(const AlignSetup<T>& a, const Strip<T>& strip, RowVectors<T>& rows) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const V lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  const V center = rows.mark, reach = hn::Set(d, a.reach);
  const auto inside = [&](V key) HWY_ATTR { return hn::Le(hn::Abs(hn::Sub(key, center)), reach); };
  V top = lowest;
  for (std::int64_t r = 0; r < strip.count; ++r) {
    const V score = hn::Load(d, strip.at + r * strip.pitch);
    const auto here = inside(hn::Set(d, static_cast<T>(strip.key + r)));
    top = hn::Max(top, hn::IfThenElse(here, score, lowest));
  }
  rows.top = hn::IfThenZeroElse(hn::Eq(top, lowest), top);
  const V sum = sum_exponentials(a, strip, rows.top, [&](V score, V key) HWY_ATTR {
    return hn::And(inside(key), hn::Gt(score, lowest));
  });
  rows.divide = reciprocal_or_zero<T>(sum);
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
