// From a score to a weight, given what is known of the whole row. Compiled per target.
#if defined(HEED_KERNELS_ALIGN_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ALIGN_INL
#undef HEED_KERNELS_ALIGN_INL
#else
#define HEED_KERNELS_ALIGN_INL
#endif

#include <hwy/highway.h>
// After highway.h: it needs its tags.
#include <hwy/contrib/math/math-inl.h>

#include "kernels/exp-inl.hpp"
#include "kernels/scores-inl.hpp"
#include "kernels/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The rows of a block of queries after the forward pass, one lane a row. A row with nothing to
/// attend to has `divide` 0.
template <class T>
struct RowLanes {
  explicit RowLanes(Scratch<T>& memory)
      : top(memory.take(kQueryBlock)),
        divide(memory.take(kQueryBlock)),
        mark(memory.take(kQueryBlock)),
        limit(memory.take(kQueryBlock)) {}

  void clear() {
    for (T* lanes : {top, divide, mark, limit}) std::fill(lanes, lanes + kQueryBlock, T{0});
  }
  void load(std::int64_t lane, const void* states, std::int64_t row) {
    const T* state = static_cast<const T*>(states) + kRowState * row;
    top[lane] = state[0], divide[lane] = state[1], mark[lane] = state[2], limit[lane] = state[3];
  }

  T* top;     // largest score that takes part
  T* divide;  // 1 / sum of the weights before it
  T* mark;   // entmax: the threshold; top_k: the smallest score chosen; hard: the key; local_p: the
             // center
  T* limit;  // top_k: the last key that ties with `mark` and is chosen; entmax: see drift
};

/// What the weights of one head share.
template <class T>
struct AlignSetup {
  AlignSetup(const AttentionProblem& p, std::int64_t head) : kind(p.align) {
    alpha = kind == Align::sparsemax  ? T{2}
            : kind == Align::entmax15 ? T{1.5}
            : kind == Align::entmax   ? static_cast<const T*>(p.alpha)[head]
                                      : T{1};
    rate = alpha - T{1};
    reach = static_cast<T>(p.reach);
    constexpr double kLog2e = 1.4426950408889634074;
    log2e = static_cast<T>(kLog2e);
    if (kind == Align::local_p) bend = static_cast<T>(-2 * kLog2e / (p.reach * p.reach));
  }

  Align kind;
  T alpha, rate, reach, log2e;
  T bend = 0;  // the Gaussian is 2^(bend * offset²): σ = reach / 2
};

template <class V>
struct Weighed {
  V weight;
  V gain;  // d weight / d score = gain * ([same key] - gain of the other / Σ gains), but for
           // sigmoid, where it is the whole slope, and hard, where it is the softmax
};

/// x^power for 0 < x <= 1, and 0 for x <= 0.
template <class DF, class V = hn::Vec<DF>>
HWY_INLINE V power_of(DF d, V x, V power) {
  const auto above = hn::Gt(x, hn::Zero(d));
  const V safe = hn::IfThenElse(above, x, hn::Set(d, hn::TFromD<DF>{1}));
  return hn::IfThenElseZero(above, exp2_softmax(d, hn::Mul(hn::Log2(d, safe), power)));
}

/// The unnormalised weight of z = (alpha - 1)(score - top) above the threshold, by x = z - mark.
template <Align kind, class DF, class T, class V = hn::Vec<DF>>
HWY_INLINE V entmax_power(DF d, const AlignSetup<T>& a, V x) {
  x = hn::Max(x, hn::Zero(d));
  if constexpr (kind == Align::sparsemax) return x;
  if constexpr (kind == Align::entmax15) return hn::Mul(x, x);
  return power_of(d, x, hn::Set(d, T{1} / a.rate));
}

template <Align kind, class DF, class T, class V = hn::Vec<DF>>
HWY_INLINE Weighed<V> weigh(DF d, const AlignSetup<T>& a, V score, V key, const RowLanes<T>& rows,
                            std::int64_t lane) {
  const V top = hn::Load(d, rows.top + lane), divide = hn::Load(d, rows.divide + lane);
  const V mark = hn::Load(d, rows.mark + lane);
  const V zero = hn::Zero(d), one = hn::Set(d, T{1});
  if constexpr (kind == Align::sparsemax || kind == Align::entmax15 || kind == Align::entmax) {
    const V x = hn::Sub(hn::Mul(hn::Sub(score, top), hn::Set(d, a.rate)), mark);
    const V weight = hn::Mul(entmax_power<kind>(d, a, x), divide);
    const auto chosen = hn::Gt(weight, zero);
    if constexpr (kind == Align::sparsemax) return {weight, hn::IfThenElseZero(chosen, one)};
    if constexpr (kind == Align::entmax15) return {weight, hn::Sqrt(weight)};
    return {weight, hn::IfThenElseZero(chosen, power_of(d, weight, hn::Set(d, T{2} - a.alpha)))};
  } else if constexpr (kind == Align::sigmoid) {
    const V e = exp2_softmax(d, hn::Mul(hn::Neg(hn::Abs(score)), hn::Set(d, a.log2e)));
    // `divide` is 1, and 0 in lanes that hold no row.
    const V high = hn::Div(divide, hn::Add(one, e)), low = hn::Mul(e, high);
    return {hn::IfThenElse(hn::Ge(score, zero), high, low), hn::Mul(high, low)};
  } else {
    V soft = hn::Mul(exp2_softmax(d, hn::Mul(hn::Sub(score, top), hn::Set(d, a.log2e))), divide);
    if constexpr (kind == Align::top_k) {
      const V limit = hn::Load(d, rows.limit + lane);
      const auto tied = hn::And(hn::Eq(score, mark), hn::Le(key, limit));
      soft = hn::IfThenElseZero(hn::Or(hn::Gt(score, mark), tied), soft);
    } else if constexpr (kind == Align::hard) {
      const auto chosen = hn::And(hn::Eq(key, mark), hn::Gt(divide, zero));
      return {hn::IfThenElseZero(chosen, one), soft};
    } else if constexpr (kind == Align::local_p) {
      const V offset = hn::Sub(key, mark);
      soft = hn::IfThenElseZero(hn::Le(hn::Abs(offset), hn::Set(d, a.reach)), soft);
      const V bend = hn::Mul(hn::Mul(offset, offset), hn::Set(d, a.bend));
      return {hn::Mul(soft, exp2_softmax(d, bend)), soft};
    }
    return {soft, soft};
  }
}

/// Calls f with the alignment as a compile-time constant; not for soft.
template <class F>
HWY_INLINE void with_align(Align kind, F&& f) {
  switch (kind) {
    case Align::soft:
      return;
    case Align::sparsemax:
      return f(std::integral_constant<Align, Align::sparsemax>());
    case Align::entmax15:
      return f(std::integral_constant<Align, Align::entmax15>());
    case Align::entmax:
      return f(std::integral_constant<Align, Align::entmax>());
    case Align::sigmoid:
      return f(std::integral_constant<Align, Align::sigmoid>());
    case Align::top_k:
      return f(std::integral_constant<Align, Align::top_k>());
    case Align::hard:
      return f(std::integral_constant<Align, Align::hard>());
    case Align::local_p:
      return f(std::integral_constant<Align, Align::local_p>());
  }
}

/// Weights and gains of a tile of scores ([count][NV * Lanes], masked pairs -inf) of keys `key` ...
/// Rows of `weights` are `pitch` apart, those of `gains` as in the tile.
template <int NV, class T>
void weigh_tile(const AlignSetup<T>& a, const T* scores, std::int64_t key, std::int64_t count,
                const RowLanes<T>& rows, std::int64_t lane, T* weights, std::int64_t pitch,
                T* gains) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  with_align(a.kind, [&](auto kind) HWY_ATTR {
    for (std::int64_t r = 0; r < count; ++r) {
      const auto number = hn::Set(d, static_cast<T>(key + r));
      for (int v = 0; v < NV; ++v) {
        const std::int64_t at = (r * NV + v) * lanes;
        const auto w =
            weigh<kind.value>(d, a, hn::Load(d, scores + at), number, rows, lane + v * lanes);
        hn::Store(w.weight, d, weights + r * pitch + v * lanes);
        hn::Store(w.gain, d, gains + at);
      }
    }
  });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
