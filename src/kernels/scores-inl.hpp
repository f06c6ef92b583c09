// The scores of a panel: some queries in lanes, some keys in rows. Compiled per target.
#if defined(HEED_KERNELS_SCORES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_SCORES_INL
#undef HEED_KERNELS_SCORES_INL
#else
#define HEED_KERNELS_SCORES_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/activation.hpp"
#include "kernels/additive-inl.hpp"
#include "kernels/geometry.hpp"
#include "kernels/pack-inl.hpp"
#include "kernels/scratch.hpp"
#include "kernels/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kKeyBlock = 96;  // a multiple of kRows, and of 4 for dropout

/// Queries `query` .. `query + count` of one head, in `lanes` lanes (the rest idle). A panel may be
/// the right end of a wider one, whose first `skip` lanes are left out.
struct Panel {
  std::int64_t query, count, lanes, skip = 0;

  /// Lanes between the rows of its queries and of its sums.
  std::int64_t pitch() const { return lanes + skip; }
};

/// The panel of the next queries of a block that has `left` of them: as wide as useful.
inline Panel next_panel(std::int64_t query, std::int64_t left, std::int64_t lanes) {
  std::int64_t vectors = 1;
  while (vectors < kVectors && vectors * lanes < left) vectors *= 2;
  return {query, std::min(left, vectors * lanes), vectors * lanes};
}

/// Lane masks are kept as numbers of all-one or all-zero bits.
template <class T>
using LaneBits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

enum class Cover { none, part, all };  // how many pairs of a tile take part

/// Rows that are read next, brought near while others are computed.
struct Ahead {
  const char* at = nullptr;  // null: nothing
  std::ptrdiff_t stride = 0;
  std::int64_t rows = 0, bytes = 0;  // bytes of each row

  void fetch(std::int64_t from, std::int64_t to) const {
    constexpr std::int64_t kLine = 64;
    for (std::int64_t r = from; r < std::min(to, rows); ++r) {
      for (std::int64_t b = 0; b < bytes; b += kLine) __builtin_prefetch(at + r * stride + b, 0, 2);
    }
  }
};

/// Tiles of [keys][lanes], and what is behind them.
template <class T>
struct ScoreTile {
  T* score;   // kKeyBlock x lanes
  T* valid;   // lane masks, same shape; set only when the cover is `part`
  T* extra;   // same shape, scratch
  T* slope;   // same shape: d score / d dot; null when not wanted
  T* spread;  // kKeyBlock x lanes, scratch for rows of the bias
  T* powers;  // additive: kKeyBlock x padded width, exponentials of the keys; else null
  Ahead keys{}, values{};
};

/// Whether scores go by exponentials of queries and keys.
inline bool is_logistic(const AttentionProblem& p) {
  return p.score == Score::additive && logistic_rate(p.activation) != 0;
}

template <class T>
T* take_powers(const AttentionProblem& p, Scratch<T>& memory) {
  return is_logistic(p) ? memory.take(kKeyBlock * padded<T>(p.width)) : nullptr;
}

/// Numbers of a panel for each of its lanes: the queries, and for logistic scores their
/// exponentials and whether these may be used.
inline std::int64_t panel_width(const AttentionProblem& p) {
  return is_logistic(p) ? 2 * p.width + 1 : p.width;
}

/// What every tile of one head shares.
template <class T>
struct ScoreSetup {
  ScoreSetup(const AttentionProblem& problem, const Entry& where, std::int64_t query_head)
      : p(problem), e(where), head(query_head), plain(has_plain_scores(problem)) {}

  const AttentionProblem& p;
  const Entry& e;
  std::int64_t head;
  bool plain;

  /// w of the additive score.
  const T* score_weight() const { return static_cast<const T*>(p.weight) + head * p.weight_stride; }

  /// The exponential of the softmax is 2^((score - max) * factor).
  T factor() const { return static_cast<T>((plain ? p.scale : 1.0) * 1.4426950408889634074); }
};

/// rows_to_panel, and what else score_tile needs of the queries.
template <class T>
void load_panel(const AttentionProblem& p, Rows<T> rows, Panel panel, T* to) {
  rows_to_panel(rows, panel.count, p.width, panel.lanes, to);
  if (!is_logistic(p)) return;
  const std::int64_t size = p.width * panel.lanes;
  const bool safe = logistic_exponentials(logistic_rate(p.activation), to, size, to + size);
  to[2 * size] = safe ? T{1} : T{0};
}

/// The keys of a tile for additive scores; their exponentials go to `powers`, rows of `padded`
/// numbers.
template <class T>
LogisticRows<T> logistic_keys(const AttentionProblem& p, Rows<T> keys, std::int64_t count,
                              T* powers) {
  LogisticRows<T> rows{keys.at, powers, true};
  if (!is_logistic(p)) return rows;
  const std::int64_t pitch = padded<T>(p.width);
  for (std::int64_t r = 0; r < count; ++r) {
    T* row = powers + r * pitch;  // a copy first: the caller's row may end inside a vector
    std::copy_n(keys.at + r * keys.stride, p.width, row);
    std::fill(row + p.width, row + pitch, T{0});
    rows.safe &= logistic_exponentials(logistic_rate(p.activation), row, pitch, row);
  }
  return rows;
}

/// Whether any row has an infinity or a NaN; flags[r] says which.
template <class T>
bool find_non_finite(Rows<T> rows, std::int64_t count, std::int64_t width, std::uint8_t* flags) {
  const hn::ScalableTag<T> d;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  bool any = false;
  for (std::int64_t r = 0; r < count; ++r) {
    const T* row = rows.at + r * rows.stride;
    auto zeros = hn::Zero(d);  // stays zero as long as all is finite
    std::int64_t c = 0;
    for (; c + n <= width; c += n) zeros = hn::MulAdd(hn::LoadU(d, row + c), hn::Zero(d), zeros);
    bool bad = !hn::AllTrue(d, hn::Eq(zeros, hn::Zero(d)));
    for (; c < width; ++c) bad |= !std::isfinite(row[c]);
    flags[r] = bad;
    any |= bad;
  }
  return any;
}

/// Which pairs causal order, window and boolean mask let through; fills `valid` when some.
template <class T>
Cover mask_tile(const ScoreSetup<T>& setup, Panel panel, std::int64_t key, std::int64_t count,
                T* valid) {
  using Bits = LaneBits<T>;
  const AttentionProblem& p = setup.p;
  const Entry& e = setup.e;
  auto* bits = reinterpret_cast<Bits*>(valid);
  const std::int64_t last = panel.query + panel.count - 1;
  const bool inside =
      key >= last + e.offset - e.left && key + count - 1 <= panel.query + e.offset + e.right;
  if (!inside) {
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t middle = key + r - e.offset - panel.query;  // the lane on the diagonal
      const auto from =
          static_cast<int>(std::clamp<std::int64_t>(middle - e.right, 0, panel.count));
      const auto to =
          static_cast<int>(std::clamp<std::int64_t>(middle + e.left + 1, 0, panel.count));
      Bits* row = bits + r * panel.lanes;
      for (int lane = 0; lane < panel.lanes; ++lane) {
        row[lane] = lane >= from && lane < to ? ~Bits{0} : Bits{0};
      }
    }
  }
  if (p.mask.data == nullptr) return inside ? Cover::all : Cover::part;

  const auto* mask = static_cast<const std::uint8_t*>(p.mask.data) +
                     pair_element(p.mask.stride, e, setup.head, panel.query, key);
  const std::int64_t row_step = p.mask.stride[2], key_step = p.mask.stride[3];
  const std::int64_t rows = row_step == 0 ? 1 : panel.count, keys = key_step == 0 ? 1 : count;
  std::int64_t ones = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::uint8_t* row = mask + i * row_step;
    std::int64_t in_row = 0;
    if (key_step == 1) {
      for (std::int64_t j = 0; j < keys; ++j) in_row += row[j] != 0;
    } else {
      for (std::int64_t j = 0; j < keys; ++j) in_row += row[j * key_step] != 0;
    }
    ones += in_row;
  }
  if (ones == 0) return Cover::none;
  if (ones == rows * keys) return inside ? Cover::all : Cover::part;
  for (std::int64_t r = 0; r < count; ++r) {
    Bits* row = bits + r * panel.lanes;
    const std::uint8_t* column = mask + r * key_step;
    if (inside) std::fill(row, row + panel.lanes, ~Bits{0});
    for (std::int64_t lane = 0; lane < panel.count; ++lane) {
      row[lane] &= column[lane * row_step] != 0 ? ~Bits{0} : Bits{0};
    }
  }
  return Cover::part;
}

/// Adds the bias to the scores; -inf in it masks the pair.
template <class T>
void add_bias(const ScoreSetup<T>& setup, Panel panel, std::int64_t key, std::int64_t count,
              const ScoreTile<T>& tile, Cover& cover) {
  using Bits = LaneBits<T>;
  const AttentionProblem& p = setup.p;
  const Rows<T> rows = view_rows(p.bias, p.bias_type,
                                 pair_element(p.bias.stride, setup.e, setup.head, panel.query, key),
                                 panel.count, count, tile.spread, count);
  rows_to_panel(rows, panel.count, count, panel.lanes, tile.extra);
  const std::int64_t size = count * panel.lanes;
  bool masks = false;
  for (std::int64_t i = 0; i < size; ++i) {
    masks |= tile.extra[i] == -std::numeric_limits<T>::infinity();
  }
  auto* bits = reinterpret_cast<Bits*>(tile.valid);
  if (masks && cover == Cover::all) {
    std::fill(bits, bits + size, ~Bits{0});
    cover = Cover::part;
  }
  if (masks) {
    for (std::int64_t i = 0; i < size; ++i) {
      bits[i] &= tile.extra[i] == -std::numeric_limits<T>::infinity() ? Bits{0} : ~Bits{0};
    }
  }
  for (std::int64_t i = 0; i < size; ++i) tile.score[i] += tile.extra[i];
}

/// score = act(score), and slope = scale · act'(score) where it is wanted.
template <class T>
void activate_tile(Activation act, T scale, T* score, T* slope, std::int64_t size) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  with_activation(act, [&](auto kind) HWY_ATTR {
    for (; i + lanes <= size; i += lanes) {
      auto y = hn::Zero(d), bend = y;
      activate_vector<kind.value>(d, hn::LoadU(d, score + i), y, bend);
      hn::StoreU(y, d, score + i);
      if (slope != nullptr) hn::StoreU(hn::Mul(bend, hn::Set(d, scale)), d, slope + i);
    }
  });
  for (; i < size; ++i) {
    if (slope != nullptr) slope[i] = scale * activation_slope(act, score[i]);
    score[i] = activate(act, score[i]);
  }
}

/// score = cap · tanh(score / cap), and its slope times what is in `slope`.
template <class T>
void cap_tile(T cap, T* score, T* slope, std::int64_t size) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, cap), one = hn::Set(d, T{1});
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto bounded = hn::Tanh(d, hn::Div(hn::LoadU(d, score + i), limit));
    hn::StoreU(hn::Mul(limit, bounded), d, score + i);
    if (slope == nullptr) continue;
    const auto bend = hn::NegMulAdd(bounded, bounded, one);
    hn::StoreU(hn::Mul(hn::LoadU(d, slope + i), bend), d, slope + i);
  }
  for (; i < size; ++i) {
    const T bounded = std::tanh(score[i] / cap);
    score[i] = cap * bounded;
    if (slope != nullptr) slope[i] *= T{1} - bounded * bounded;
  }
}

/// From dot products to scores: everything but the masks, in the order of the contract.
template <class T>
void shape_scores(const ScoreSetup<T>& setup, Panel panel, std::int64_t key, std::int64_t count,
                  const ScoreTile<T>& tile, Cover& cover) {
  const AttentionProblem& p = setup.p;
  const Entry& e = setup.e;
  const std::int64_t size = count * panel.lanes;
  if (p.row_bias.data != nullptr) {
    const T* row_bias = static_cast<const T*>(p.row_bias.data) +
                        query_element(p.row_bias.stride, e, setup.head, panel.query);
    for (std::int64_t lane = 0; lane < panel.count; ++lane) {
      const T add = row_bias[lane * p.row_bias.stride[2]];
      for (std::int64_t r = 0; r < count; ++r) tile.score[r * panel.lanes + lane] += add;
    }
  }
  if (p.column_bias.data != nullptr) {
    const T* column_bias = static_cast<const T*>(p.column_bias.data) +
                           key_element(p.column_bias.stride, e, setup.head, key);
    for (std::int64_t r = 0; r < count; ++r) {
      const T add = column_bias[r * p.column_bias.stride[2]];
      for (std::int64_t lane = 0; lane < panel.lanes; ++lane) {
        tile.score[r * panel.lanes + lane] += add;
      }
    }
  }
  const T scale = static_cast<T>(p.scale);
  const Activation act = p.score == Score::dot ? p.activation : Activation::identity;
  if (act != Activation::identity) {
    activate_tile(act, scale, tile.score, tile.slope, size);
  } else if (tile.slope != nullptr) {
    std::fill(tile.slope, tile.slope + size, scale);
  }
  if (scale != T{1}) {
    for (std::int64_t i = 0; i < size; ++i) tile.score[i] *= scale;
  }
  if (p.softcap != 0) cap_tile(static_cast<T>(p.softcap), tile.score, tile.slope, size);
  if (p.bias.data != nullptr) add_bias(setup, panel, key, count, tile, cover);
  if (p.alibi_slopes != nullptr) {
    const T slope = static_cast<T>(p.alibi_slopes[setup.head]);
    for (std::int64_t r = 0; r < count; ++r) {
      const auto first = static_cast<T>(panel.query + e.offset - key - r);
      T* row = tile.score + r * panel.lanes;
      for (int lane = 0; lane < panel.lanes; ++lane) {
        row[lane] -= slope * std::abs(first + static_cast<T>(lane));
      }
    }
  }
}

/// Scores of keys `key` .. `key + count` (rows of `keys`) for the panel whose queries are in
/// `queries` ([elements<E>(width)][panel.pitch()]); masked pairs get -inf. `top` gets the largest
/// score of each lane. Returns `none`, and computes nothing, when no pair takes part.
template <int NV, class E, class T>
HWY_INLINE Cover score_tile(const ScoreSetup<T>& setup, Panel panel, const E* queries, Rows<E> keys,
                            std::int64_t key, std::int64_t count, const ScoreTile<T>& tile,
                            hn::Vec<hn::ScalableTag<T>> (&top)[NV]) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t wide = NV * lanes;
  const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  Cover cover = mask_tile(setup, panel, key, count, tile.valid);
  if (cover == Cover::none) return cover;
  for (int v = 0; v < NV; ++v) top[v] = lowest;
  T* score = tile.score;
  const auto sink = [=, &top](std::int64_t r, int v, auto sum) HWY_ATTR {
    top[v] = hn::Max(top[v], sum);
    hn::Store(sum, d, score + r * wide + v * lanes);
  };
  const AttentionProblem& p = setup.p;
  if (p.score == Score::dot) {
    const std::int64_t usual = 2 * (kNumbers<E> > 1 && tile_products() ? kTile : kRows);
    for (std::int64_t first = 0; first < count;) {
      const std::int64_t part = count - first < 2 * usual ? count - first : usual;
      tile.keys.fetch(first, first + part);
      tile.values.fetch(first, first + part);
      multiply<NV>(d, part, Broadcast<E>{keys.at + first * keys.stride, keys.stride, 1}, queries,
                   panel.pitch(), elements<E>(p.width),
                   [=](std::int64_t r, int v, auto sum) HWY_ATTR { sink(first + r, v, sum); });
      first += part;
    }
  } else if constexpr (std::is_same_v<E, T>) {
    const std::int64_t size = p.width * wide;
    const bool safe = is_logistic(p) && queries[2 * size] != T{0};
    additive_tile<NV>(p.activation, LogisticRows<T>{queries, queries + size, safe},
                      logistic_keys(p, keys, count, tile.powers), keys.stride, padded<T>(p.width),
                      count, p.width, setup.score_weight(), sink);
  }
  if (setup.plain && cover == Cover::all) return cover;
  if (!setup.plain) shape_scores(setup, panel, key, count, tile, cover);
  for (int v = 0; v < NV; ++v) top[v] = lowest;
  for (std::int64_t r = 0; r < count; ++r) {
    for (int v = 0; v < NV; ++v) {
      T* at = score + r * wide + v * lanes;
      auto x = hn::Load(d, at);
      if (cover == Cover::part) {
        const auto valid = hn::MaskFromVec(hn::Load(d, tile.valid + r * wide + v * lanes));
        x = hn::IfThenElse(valid, x, lowest);
        hn::Store(x, d, at);
      }
      top[v] = hn::Max(top[v], x);
    }
  }
  return cover;
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
