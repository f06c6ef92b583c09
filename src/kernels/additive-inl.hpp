// Additive scores, w · act(a + b), of a tile, and their gradients. Compiled per target.
//
// tanh(a + b) = 1 - 2 / (1 + e^2a e^2b): with the exponentials of queries and keys at hand, a pair
// costs a multiplication and a part of a division. The same for the sigmoid, with e^a e^b.
#if defined(HEED_KERNELS_ADDITIVE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ADDITIVE_INL
#undef HEED_KERNELS_ADDITIVE_INL
#else
#define HEED_KERNELS_ADDITIVE_INL
#endif

#include <hwy/highway.h>
// After highway.h: it needs its tags.
#include <hwy/contrib/math/math-inl.h>

#include <cstdint>

#include "heed/kernels/attention.hpp"
#include "kernels/activation.hpp"
#include "kernels/exp-inl.hpp"
#include "kernels/pack-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// act(x) = 1 - rate / (1 + e^(rate x)) for tanh (rate 2) and sigmoid (rate 1); 0: no such form.
inline int logistic_rate(Activation act) {
  return act == Activation::tanh ? 2 : act == Activation::sigmoid ? 1 : 0;
}

template <class T>
struct LogisticLimits;
template <>
struct LogisticLimits<float> {
  static constexpr float kExponent = 120.0f;  // of 2; beyond it the exponential is not used
  static constexpr float kLargest = 0x1p30f;  // 1 + e^x is cut here: 2^-30 is nothing beside 1
};
template <>
struct LogisticLimits<double> {
  static constexpr double kExponent = 1000.0;
  static constexpr double kLargest = 0x1p60;
};

/// e^(rate x) of `count` numbers. False if one is out of range or no number: the tile then takes
/// the direct way. Both arrays are padded to whole vectors.
template <class T>
bool logistic_exponentials(int rate, const T* from, std::int64_t count, T* to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, static_cast<T>(rate * 1.4426950408889634074));
  const auto limit = hn::Set(d, LogisticLimits<T>::kExponent);
  auto inside = hn::Eq(limit, limit);
  for (std::int64_t i = 0; i < count; i += lanes) {
    const auto t = hn::Mul(hn::Load(d, from + i), factor);
    inside = hn::And(inside, hn::Le(hn::Abs(t), limit));
    hn::Store(exp2_softmax(d, t), d, to + i);
  }
  return hn::AllTrue(d, inside);
}

/// act and its slope on a vector.
template <Activation act, class DF, class V = hn::Vec<DF>>
HWY_INLINE void activate_vector(DF d, V x, V& y, V& slope) {
  using T = hn::TFromD<DF>;
  const V one = hn::Set(d, T{1}), zero = hn::Zero(d);
  if constexpr (act == Activation::identity) {
    y = x, slope = one;
  } else if constexpr (act == Activation::relu) {
    const auto above = hn::Gt(x, zero);
    y = hn::IfThenElse(hn::Le(x, zero), zero, x);  // NaN stays
    slope = hn::IfThenElseZero(above, one);
  } else if constexpr (act == Activation::tanh) {
    y = hn::Tanh(d, x);
    slope = hn::NegMulAdd(y, y, one);
  } else if constexpr (act == Activation::sigmoid) {
    const V e = hn::Exp(d, hn::Neg(hn::Abs(x)));
    const V high = hn::Div(one, hn::Add(one, e)), low = hn::Mul(e, high);
    y = hn::IfThenElse(hn::Lt(x, zero), low, high);
    slope = hn::Mul(high, low);
  } else {
    HWY_ALIGN T in[HWY_MAX_BYTES / sizeof(T)], out[HWY_MAX_BYTES / sizeof(T)];
    HWY_ALIGN T slopes[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(x, d, in);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      out[i] = activate(act, in[i]);
      slopes[i] = activation_slope(act, in[i]);
    }
    y = hn::Load(d, out), slope = hn::Load(d, slopes);
  }
}

/// Calls f with the activation as a compile-time constant.
template <class F>
HWY_INLINE void with_activation(Activation act, F&& f) {
  switch (act) {
    case Activation::identity:
      return f(std::integral_constant<Activation, Activation::identity>());
    case Activation::tanh:
      return f(std::integral_constant<Activation, Activation::tanh>());
    case Activation::relu:
      return f(std::integral_constant<Activation, Activation::relu>());
    case Activation::gelu:
      return f(std::integral_constant<Activation, Activation::gelu>());
    case Activation::sigmoid:
      return f(std::integral_constant<Activation, Activation::sigmoid>());
  }
}

/// One operand of a tile: plain numbers, and their exponentials where `safe`.
template <class T>
struct LogisticRows {
  const T* plain;
  const T* exponentials;
  bool safe;
};

/// sum += Σ_i w_i / (1 + q_i k_i) for four hidden units at a time: one division for the four.
template <class DF, class T, class V = hn::Vec<DF>>
HWY_INLINE V add_fractions(DF d, const T* q, std::int64_t pitch, const T* k, const T* w,
                           std::int64_t width, V sum) {
  const V one = hn::Set(d, T{1}), largest = hn::Set(d, LogisticLimits<T>::kLargest);
  const auto term = [&](std::int64_t h) HWY_ATTR {
    const V x = hn::MulAdd(hn::Load(d, q + h * pitch), hn::Set(d, k[h]), one);
    return hn::Min(x, largest);
  };
  std::int64_t h = 0;
  for (; h + 4 <= width; h += 4) {
    const V x0 = term(h), x1 = term(h + 1), x2 = term(h + 2), x3 = term(h + 3);
    const V w0 = hn::Set(d, w[h]), w1 = hn::Set(d, w[h + 1]);
    const V w2 = hn::Set(d, w[h + 2]), w3 = hn::Set(d, w[h + 3]);
    const V below01 = hn::Mul(x0, x1), below23 = hn::Mul(x2, x3);
    const V above01 = hn::MulAdd(w0, x1, hn::Mul(w1, x0));
    const V above23 = hn::MulAdd(w2, x3, hn::Mul(w3, x2));
    const V above = hn::MulAdd(above01, below23, hn::Mul(above23, below01));
    sum = hn::Add(sum, hn::Div(above, hn::Mul(below01, below23)));
  }
  for (; h < width; ++h) sum = hn::Add(sum, hn::Div(hn::Set(d, w[h]), term(h)));
  return sum;
}

/// sink(r, v, score) for `count` keys (rows of `width`, `keys.stride` apart) and NV vectors of
/// queries (panel of [width][NV * Lanes]).
template <int NV, class T, class Sink>
HWY_INLINE void additive_tile(Activation act, const LogisticRows<T>& queries,
                              const LogisticRows<T>& keys, std::int64_t key_stride,
                              std::int64_t exponential_stride, std::int64_t count,
                              std::int64_t width, const T* w, Sink&& sink) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const int rate = logistic_rate(act);
  if (rate != 0 && queries.safe && keys.safe) {
    T whole = 0;
    for (std::int64_t h = 0; h < width; ++h) whole += w[h];
    const V all = hn::Set(d, whole), step = hn::Set(d, static_cast<T>(-rate));
    for (std::int64_t r = 0; r < count; ++r) {
      for (int v = 0; v < NV; ++v) {
        const V sum =
            add_fractions(d, queries.exponentials + v * lanes, NV * lanes,
                          keys.exponentials + r * exponential_stride, w, width, hn::Zero(d));
        sink(r, v, hn::MulAdd(sum, step, all));
      }
    }
    return;
  }
  with_activation(act, [&](auto kind) HWY_ATTR {
    for (std::int64_t r = 0; r < count; ++r) {
      const T* key = keys.plain + r * key_stride;
      for (int v = 0; v < NV; ++v) {
        V sum = hn::Zero(d);
        for (std::int64_t h = 0; h < width; ++h) {
          V y, slope;
          const V q = hn::Load(d, queries.plain + (h * NV + v) * lanes);
          activate_vector<kind.value>(d, hn::Add(q, hn::Set(d, key[h])), y, slope);
          sum = hn::MulAdd(hn::Set(d, w[h]), y, sum);
        }
        sink(r, v, sum);
      }
    }
  });
}

/// 1 / x for 1 <= x <= kLargest.
template <class DF, class V = hn::Vec<DF>>
HWY_INLINE V reciprocal(DF d, V x) {
  if constexpr (sizeof(hn::TFromD<DF>) == 4) {
    const V r = hn::ApproximateReciprocal(x);  // 11 bits or more; two steps give all of them
    const V two = hn::Set(d, 2.0f);
    const V s = hn::Mul(r, hn::NegMulAdd(x, r, two));
    return hn::Mul(s, hn::NegMulAdd(x, s, two));
  } else {
    return hn::Div(hn::Set(d, hn::TFromD<DF>{1}), x);
  }
}

/// What additive_gradients adds to; rows of `width` padded to whole vectors. The sums of query and
/// key still lack the factor w.
template <class T>
struct AdditiveSums {
  T* query;   // [queries][width]
  T* key;     // [keys][width]
  T* weight;  // [width]
};

/// Adds one key's pairs; pair(query) gives act(a + b) and its slope for the vector at hand.
template <class V, class T, class Pair>
HWY_INLINE void add_pairs(const T* slopes, std::int64_t count, std::int64_t width, T* query_sums,
                          V& key_sum, V& weight, Pair&& pair) {
  const hn::ScalableTag<T> d;
  for (std::int64_t q = 0; q < count; ++q) {
    if (slopes[q] == T{0}) continue;
    V y, bend;
    pair(q, y, bend);
    const V slope = hn::Set(d, slopes[q]), g = hn::Mul(slope, bend);
    T* query_sum = query_sums + q * width;
    weight = hn::MulAdd(slope, y, weight);
    key_sum = hn::Add(key_sum, g);
    hn::Store(hn::Add(hn::Load(d, query_sum), g), d, query_sum);
  }
}

/// Gradients of a tile given d loss / d score, `slopes` ([keys], `pitch` apart, one number a
/// query): hidden units lie in lanes, so every sum is vertical. Pairs of slope 0 are stepped over.
/// Rows of both operands are `width` apart.
template <class T>
void additive_gradients(Activation act, const LogisticRows<T>& queries, const LogisticRows<T>& keys,
                        std::int64_t query_count, std::int64_t key_count, std::int64_t width,
                        const T* slopes, std::int64_t pitch, const AdditiveSums<T>& sums) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V one = hn::Set(d, T{1}), largest = hn::Set(d, LogisticLimits<T>::kLargest);
  const int steps = logistic_rate(act);
  const bool quick = steps != 0 && queries.safe && keys.safe;
  const V rate = hn::Set(d, static_cast<T>(steps)), square = hn::Mul(rate, rate);
  for (std::int64_t c = 0; c < width; c += lanes) {
    V weight = hn::Load(d, sums.weight + c);
    for (std::int64_t r = 0; r < key_count; ++r) {
      const T* slope = slopes + r * pitch;
      V key_sum = hn::Load(d, sums.key + r * width + c);
      if (quick) {
        const V key = hn::Load(d, keys.exponentials + r * width + c);
        add_pairs(slope, query_count, width, sums.query + c, key_sum, weight,
                  [&](std::int64_t q, V& y, V& bend) HWY_ATTR {
                    const V query = hn::Load(d, queries.exponentials + q * width + c);
                    const V f = reciprocal(d, hn::Min(hn::MulAdd(query, key, one), largest));
                    y = hn::NegMulAdd(rate, f, one);
                    bend = hn::Mul(square, hn::NegMulAdd(f, f, f));
                  });
      } else {
        const V key = hn::Load(d, keys.plain + r * width + c);
        with_activation(act, [&](auto kind) HWY_ATTR {
          add_pairs(slope, query_count, width, sums.query + c, key_sum, weight,
                    [&](std::int64_t q, V& y, V& bend) HWY_ATTR {
                      const V query = hn::Load(d, queries.plain + q * width + c);
                      activate_vector<kind.value>(d, hn::Add(query, key), y, bend);
                    });
        });
      }
      hn::Store(key_sum, d, sums.key + r * width + c);
    }
    hn::Store(weight, d, sums.weight + c);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
