// The hidden layer and the scores of one query against some keys, compiled per target. Hidden units
// and features lie in lanes.
#if defined(HEED_KERNELS_MULTI_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_MULTI_INL
#undef HEED_KERNELS_MULTI_INL
#else
#define HEED_KERNELS_MULTI_INL
#endif

#include <hwy/highway.h>

#include "kernels/dropout-inl.hpp"
#include "kernels/exp-inl.hpp"
#include "kernels/scores-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kMultiKeys = 48;  // keys of a tile: at most kKeyBlock

/// Rows with their exponentials, padded to whole vectors.
template <class T>
struct HiddenRows {
  HiddenRows(const AttentionProblem& p, std::int64_t count, Scratch<T>& memory)
      : width(padded<T>(p.width)),
        plain(memory.take(count * width)),
        powers(is_logistic(p) ? memory.take(count * width) : nullptr) {}

  void load(const AttentionProblem& p, const Input& from, std::int64_t element,
            std::int64_t count) {
    copy_rows(from.data, p.type, element, from.stride[2], from.stride[3], count, p.width, plain,
              width);
    safe = powers != nullptr &&
           logistic_exponentials(logistic_rate(p.activation), plain, count * width, powers);
  }

  std::int64_t width;
  T* plain;
  T* powers;
  bool safe = false;
};

template <class T>
struct MultiTile {
  MultiTile(const AttentionProblem& p, Scratch<T>& memory)
      : width(padded<T>(p.width)),
        value_width(padded<T>(p.value_width)),
        matrix(memory.take(p.width * value_width)),
        hidden(memory.take(kMultiKeys * width)),
        bend(memory.take(kMultiKeys * width)),
        score(memory.take(kMultiKeys * value_width)),
        cap(memory.take(kMultiKeys * value_width)),
        shift(memory.take(kMultiKeys)),
        valid(memory.take(kMultiKeys)),
        spread(memory.take(kMultiKeys)),
        kept(memory.take(kMultiKeys)) {}

  /// Wd of the head, rows padded.
  void load_matrix(const AttentionProblem& p, std::int64_t head) {
    const T* from = static_cast<const T*>(p.weight) + head * p.weight_stride;
    for (std::int64_t h = 0; h < p.width; ++h) {
      std::copy_n(from + h * p.value_width, p.value_width, matrix + h * value_width);
      std::fill(matrix + h * value_width + p.value_width, matrix + (h + 1) * value_width, T{0});
    }
  }

  /// Whether a key of the tile takes part.
  bool takes(std::int64_t r) const { return std::bit_cast<LaneBits<T>>(valid[r]) != 0; }

  std::int64_t width, value_width;
  T* matrix;  // [D][value_width]
  T* hidden;  // act(query + key), [keys][width]
  T* bend;    // its slope
  T* score;   // [keys][value_width]
  T* cap;     // d score / d (hidden · Wd), where there is a softcap
  T* shift;   // what is added to all scores of a pair
  T* valid;   // lane mask of each key
  T* spread;
  T* kept;  // dropout factors
};

/// Fills hidden (and bend, where the slopes are wanted) for one query; rows of keys that do not
/// take part are 0.
template <bool kSlopes, class T>
void fill_hidden(const AttentionProblem& p, const HiddenRows<T>& queries, std::int64_t query,
                 const HiddenRows<T>& keys, std::int64_t first, std::int64_t count,
                 MultiTile<T>& x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V one = hn::Set(d, T{1}), largest = hn::Set(d, LogisticLimits<T>::kLargest);
  const V rate = hn::Set(d, static_cast<T>(logistic_rate(p.activation)));
  const V square = hn::Mul(rate, rate);
  const bool quick = queries.safe && keys.safe;
  const auto each = [&](auto&& pair) HWY_ATTR {
    for (std::int64_t r = 0; r < count; ++r) {
      const bool takes = x.takes(r);
      for (std::int64_t c = 0; c < x.width; c += lanes) {
        V y = hn::Zero(d), bend = hn::Zero(d);
        if (takes) pair(query * x.width + c, (first + r) * x.width + c, y, bend);
        hn::Store(y, d, x.hidden + r * x.width + c);
        if constexpr (kSlopes) hn::Store(bend, d, x.bend + r * x.width + c);
      }
    }
  };
  if (quick) {
    each([&](std::int64_t q, std::int64_t k, V& y, V& bend) HWY_ATTR {
      const V product =
          hn::MulAdd(hn::Load(d, queries.powers + q), hn::Load(d, keys.powers + k), one);
      const V f = reciprocal(d, hn::Min(product, largest));
      y = hn::NegMulAdd(rate, f, one);
      bend = hn::Mul(square, hn::NegMulAdd(f, f, f));
    });
  } else {
    with_activation(p.activation, [&](auto kind) HWY_ATTR {
      each([&](std::int64_t q, std::int64_t k, V& y, V& bend) HWY_ATTR {
        const V sum = hn::Add(hn::Load(d, queries.plain + q), hn::Load(d, keys.plain + k));
        activate_vector<kind.value>(d, sum, y, bend);
      });
    });
  }
}

/// Masks and what is added to the scores of a pair. False: no key takes part.
template <class T>
bool fill_pairs(const ScoreSetup<T>& setup, std::int64_t query, std::int64_t key,
                std::int64_t count, MultiTile<T>& x) {
  using Bits = LaneBits<T>;
  const AttentionProblem& p = setup.p;
  auto* bits = reinterpret_cast<Bits*>(x.valid);
  const Cover cover = mask_tile(setup, Panel{query, 1, 1}, key, count, x.valid);
  if (cover == Cover::none) return false;
  if (cover == Cover::all) std::fill(bits, bits + count, ~Bits{0});
  std::fill(x.shift, x.shift + count, T{0});
  if (p.bias.data != nullptr) {
    const Rows<T> row =
        view_rows(p.bias, p.bias_type, pair_element(p.bias.stride, setup.e, setup.head, query, key),
                  1, count, x.spread, count);
    for (std::int64_t r = 0; r < count; ++r) {
      if (row.at[r] == -std::numeric_limits<T>::infinity()) bits[r] = 0;
      x.shift[r] = row.at[r];
    }
  }
  if (p.alibi_slopes != nullptr) {
    const T slope = static_cast<T>(p.alibi_slopes[setup.head]);
    for (std::int64_t r = 0; r < count; ++r) {
      x.shift[r] -= slope * std::abs(static_cast<T>(query + setup.e.offset - key - r));
    }
  }
  bool any = false;
  for (std::int64_t r = 0; r < count; ++r) any |= bits[r] != 0;
  return any;
}

/// Scores of the tile from its hidden layer.
template <class T>
void fill_scores(const AttentionProblem& p, std::int64_t count, MultiTile<T>& x) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, static_cast<T>(p.scale));
  const T* shift = x.shift;
  const bool capped = p.softcap != 0;
  T* to = x.score;
  const std::int64_t pitch = x.value_width;
  product(count, Broadcast<T>{x.hidden, x.width, 1}, x.matrix, pitch, p.width, pitch,
          [=](std::int64_t r, std::int64_t c, auto sum) HWY_ATTR {
            const auto add = hn::Set(d, capped ? T{0} : shift[r]);
            hn::Store(hn::MulAdd(sum, scale, add), d, to + r * pitch + c);
          });
  if (!capped) return;
  const auto cap = hn::Set(d, static_cast<T>(p.softcap));
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t c = 0; c < x.value_width; c += lanes) {
      T* at = x.score + r * x.value_width + c;
      const auto bounded = hn::Tanh(d, hn::Div(hn::Load(d, at), cap));
      hn::Store(hn::MulAdd(cap, bounded, hn::Set(d, shift[r])), d, at);
      hn::Store(hn::NegMulAdd(bounded, bounded, hn::Set(d, T{1})), d,
                x.cap + r * x.value_width + c);
    }
  }
}

/// Dropout factors of the tile, 1 where there is no dropout.
template <class T>
void fill_kept(const ScoreSetup<T>& setup, std::int64_t query, std::int64_t key, std::int64_t count,
               MultiTile<T>& x) {
  if (setup.p.dropout > 0) {
    dropout_tile(setup, Panel{query, 1, 1}, key, count, x.kept);
  } else {
    std::fill(x.kept, x.kept + count, T{1});
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
