// Gradients of a tile of scores, compiled per target.
#if defined(HEED_KERNELS_GRADIENT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_GRADIENT_INL
#undef HEED_KERNELS_GRADIENT_INL
#else
#define HEED_KERNELS_GRADIENT_INL
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "kernels/align-inl.hpp"
#include "kernels/dropout-inl.hpp"
#include "kernels/exp-inl.hpp"
#include "kernels/scores-inl.hpp"
#include "kernels/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Σ_c a[c] * b[c] over a multiple of the lanes.
template <class T>
HWY_INLINE T dot_rows(const T* a, const T* b, std::int64_t width) {
  const hn::ScalableTag<T> d;
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  for (std::int64_t c = 0; c < width; c += n) {
    sum = hn::MulAdd(hn::Load(d, a + c), hn::Load(d, b + c), sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// A block of queries with all that their gradients need, and a tile of the results:
/// [kKeyBlock][kQueryBlock], one row a key, one column a query. E: elements of the products.
template <class T, class E = T>
struct GradientBlock {
  explicit GradientBlock(const AttentionProblem& p)
      : width(padded<T>(p.width)),
        value_width(padded<T>(p.value_width)),
        weights(memory.take(kKeyBlock * kQueryBlock)),
        slopes(memory.take(kKeyBlock * kQueryBlock)),
        rows(memory.take(kQueryBlock * width)),
        grad_rows(memory.take(kQueryBlock * value_width)),
        powers(is_logistic(p) ? memory.take(kQueryBlock * width) : nullptr),
        queries(operands.take(kQueryBlock * elements<E>(panel_width(p)))),
        grads(operands.take(kQueryBlock * elements<E>(p.value_width))),
        row_pairs(take_pairs(kQueryBlock * width)),
        grad_pairs(take_pairs(kQueryBlock * value_width)),
        weight_pairs(take_pairs(kKeyBlock * kQueryBlock)),
        slope_pairs(take_pairs(kKeyBlock * kQueryBlock)),
        out(memory.take(value_width)),
        lanes(memory),
        mean(memory.take(kQueryBlock)),
        grad_logp(memory.take(kQueryBlock)),
        gains(p.align == Align::soft ? nullptr : memory.take(kKeyBlock * kQueryBlock)),
        dropped(p.dropout > 0 ? memory.take(kKeyBlock * kQueryBlock) : nullptr),
        tile{memory.take(kKeyBlock * kQueryBlock),
             memory.take(kKeyBlock * kQueryBlock),
             memory.take(kKeyBlock * kQueryBlock),
             has_plain_scores(p) ? nullptr : memory.take(kKeyBlock * kQueryBlock),
             memory.take(kKeyBlock * kQueryBlock),
             take_powers(p, memory)} {}

  /// Queries `first` .. `first + number` of the head.
  void load(const ScoreSetup<T>& setup, std::int64_t first, std::int64_t number,
            const BackwardInputs& inputs) {
    const AttentionProblem& p = setup.p;
    const Entry& e = setup.e;
    const auto n = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
    query = first, count = number, panel_count = 0, checked = false;
    const auto copy = [&](const Input& from, std::int64_t of, T* to, std::int64_t pitch) {
      copy_rows(from.data, p.type, query_element(from.stride, e, setup.head, first), from.stride[2],
                from.stride[3], number, of, to, pitch);
    };
    if constexpr (std::is_same_v<E, T>) copy(p.query, p.width, rows, width);
    if (powers != nullptr) {
      safe = logistic_exponentials(logistic_rate(p.activation), rows, number * width, powers);
    }
    copy(inputs.grad_out, p.value_width, grad_rows, value_width);
    lanes.clear();
    std::fill(mean, mean + kQueryBlock, T{0});
    std::fill(grad_logp, grad_logp + kQueryBlock, T{0});
    for (std::int64_t i = 0; i < number; ++i) {
      const std::int64_t row = e.query_row(p.heads, setup.head, first + i);
      lanes.load(i, inputs.state, row);
      mean[i] = mean_gradient(setup, first + i, inputs, grad_rows + i * value_width);
      if (inputs.grad_lse == nullptr || lanes.divide[i] == T{0}) continue;
      const T grad = static_cast<T>(inputs.grad_lse[row]);
      if (p.align == Align::hard) {  // logp = score of the chosen key - lse
        mean[i] += grad;
        grad_logp[i] = grad;
      } else {
        mean[i] -= grad;
      }
    }
    for (std::int64_t i = 0; i < number;) {
      const Panel panel = next_panel(first + i, number - i, n);
      if constexpr (std::is_same_v<E, T>) {
        load_panel(p, Rows<T>{rows + i * width, width}, panel, queries + i * panel_width(p));
        rows_to_panel(Rows<T>{grad_rows + i * value_width, value_width}, panel.count, p.value_width,
                      panel.lanes, grads + i * p.value_width);
      } else if constexpr (kHasPairs) {
        load_pairs(p.query, query_element(p.query.stride, e, setup.head, first), panel, p.width,
                   width, rows, queries, row_pairs);
        load_pairs(inputs.grad_out, query_element(inputs.grad_out.stride, e, setup.head, first),
                   panel, p.value_width, value_width, grad_rows, grads, grad_pairs);
      }
      panels[panel_count++] = panel;
      i += panel.lanes;
    }
  }

  /// Rows of bfloat16 as a panel, and as pairs of rows that are filled up to `pitch`; `room`: rows
  /// that are not needed any more. All queries of a block are one panel here.
  void load_pairs(const Input& input, std::int64_t element, Panel panel, std::int64_t of,
                  std::int64_t pitch, T* room, Pair* to_panel, Pair* to_rows) {
    pairs_to_panel(input, element, panel.count, of, panel.lanes, reinterpret_cast<Pair*>(room),
                   to_panel);
    const hn::ScalableTag<std::uint32_t> d;
    for (std::int64_t r = 0; r < panel.count; r += 2, to_rows += pitch) {
      pair_rows(d, input, element + r * input.stride[2], std::min<std::int64_t>(2, panel.count - r),
                of, to_rows);
      std::fill(to_rows + of, to_rows + pitch, Pair{0});
    }
  }

  /// The weights and slopes of the tile's first `keys` keys as pairs of queries.
  void round_tile(std::int64_t keys) {
    if constexpr (kHasPairs && !std::is_same_v<E, T>) {
      for (std::int64_t r = 0; r < keys && count % 2 != 0; ++r) {  // the last one's partner is idle
        weights[r * kQueryBlock + count] = slopes[r * kQueryBlock + count] = T{0};
      }
      pair_neighbours(weights, kQueryBlock, keys, panels[0].lanes, weight_pairs);
      pair_neighbours(slopes, kQueryBlock, keys, panels[0].lanes, slope_pairs);
    }
  }

  /// Σ_k gain * d loss / d weight / Σ_k gain, from the mean of the values under the gains.
  T mean_gradient(const ScoreSetup<T>& setup, std::int64_t row, const BackwardInputs& inputs,
                  const T* grad) {
    const AttentionProblem& p = setup.p;
    if (p.align == Align::sigmoid || (p.align == Align::hard && !p.straight_through)) return 0;
    const bool own = needs_mean(p);
    const Input& from = own ? inputs.mean : inputs.out;
    const Type type = own ? (sizeof(T) == 8 ? Type::float64 : Type::float32) : p.type;
    copy_rows(from.data, type, query_element(from.stride, setup.e, setup.head, row), from.stride[2],
              from.stride[3], 1, p.value_width, out, value_width);
    return dot_rows(grad, out, value_width);
  }

  /// Whether a query or an output gradient is not finite; `bad` says which.
  bool has_bad_rows(const AttentionProblem& p) {
    if (checked) return any_bad;
    checked = true;
    std::uint8_t bad_grads[kQueryBlock];
    any_bad = find_non_finite(Rows<T>{rows, width}, count, p.width, bad);
    any_bad |= find_non_finite(Rows<T>{grad_rows, value_width}, count, p.value_width, bad_grads);
    for (std::int64_t i = 0; i < count; ++i) bad[i] |= bad_grads[i];
    return any_bad;
  }

  E* take_pairs(std::int64_t numbers) {
    return std::is_same_v<E, T> ? nullptr : operands.take(elements<E>(numbers));
  }

  std::int64_t width, value_width;  // padded to whole vectors
  Scratch<E> operands;
  Scratch<T> memory;
  T* weights;    // after dropout: what multiplies the output gradient
  T* slopes;     // d loss / d dot product, without the scale when the scores are plain
  T* rows;       // queries [count][width]
  T* grad_rows;  // output gradients [count][value_width]
  T* powers;     // additive: exponentials of `rows`; else null
  E* queries;    // the queries in panels, see load_panel
  E* grads;      // the gradients in panels of [V][lanes]
  // Pairs only: two queries an element, of the queries and the gradients [count / 2][width], and of
  // the tile [kKeyBlock][kQueryBlock / 2].
  E* row_pairs;
  E* grad_pairs;
  E* weight_pairs;
  E* slope_pairs;
  T* out;
  RowLanes<T> lanes;
  T* mean;       // see mean_gradient
  T* grad_logp;  // gradient that came to the chosen key's log-probability
  T* gains;      // of the tile, [count][lanes of the panel]; null: the weights are the gains
  T* dropped;
  ScoreTile<T> tile;
  Panel panels[kQueryBlock];
  std::uint8_t bad[kQueryBlock];
  std::int64_t query = 0, count = 0, panel_count = 0;
  bool checked = false, any_bad = false, safe = false;  // safe: `powers` may be used
};

/// Fills the panel's columns of block.weights and block.slopes for keys `key` .. `key + count`;
/// with zeros where no pair takes part.
template <int NV, class T, class E>
Cover gradient_tile(const ScoreSetup<T>& setup, Panel panel, std::int64_t lane, Rows<E> keys,
                    Rows<E> values, std::int64_t key, std::int64_t count,
                    GradientBlock<T, E>& block) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t wide = NV * lanes;
  const ScoreTile<T>& tile = block.tile;
  T* weights = block.weights + lane;
  T* slopes = block.slopes + lane;
  V top[NV];
  const std::int64_t last = panel.query + panel.count - 1;
  Cover cover = Cover::none;
  if (setup.e.begin_key(panel.query) < key + count && setup.e.end_key(last) > key) {
    cover = score_tile<NV>(setup, panel, block.queries + lane * elements<E>(panel_width(setup.p)),
                           keys, key, count, tile, top);
  }
  if (cover == Cover::none) {
    for (std::int64_t r = 0; r < count; ++r) {
      for (int v = 0; v < NV; ++v) {
        hn::Store(hn::Zero(d), d, weights + r * kQueryBlock + v * lanes);
        hn::Store(hn::Zero(d), d, slopes + r * kQueryBlock + v * lanes);
      }
    }
    return cover;
  }

  V mean[NV];
  for (int v = 0; v < NV; ++v) mean[v] = hn::Load(d, block.mean + lane + v * lanes);
  if (setup.p.align == Align::soft) {
    const V factor = hn::Set(d, setup.factor());
    V divide[NV];
    for (int v = 0; v < NV; ++v) {
      top[v] = hn::Load(d, block.lanes.top + lane + v * lanes);
      divide[v] = hn::Load(d, block.lanes.divide + lane + v * lanes);
    }
    for (std::int64_t r = 0; r < count; ++r) {
      for (int v = 0; v < NV; ++v) {
        const V score = hn::Load(d, tile.score + r * wide + v * lanes);
        const V p = exp2_drop(d, hn::Sub(top[v], score), factor);
        hn::Store(hn::Mul(p, divide[v]), d, weights + r * kQueryBlock + v * lanes);
      }
    }
  } else {
    weigh_tile<NV>(AlignSetup<T>(setup.p, setup.head), tile.score, key, count, block.lanes, lane,
                   weights, kQueryBlock, block.gains);
  }
  const bool local = setup.p.align == Align::local_p, hard = setup.p.align == Align::hard;
  const bool through = !hard || setup.p.straight_through;
  if (block.dropped != nullptr) dropout_tile(setup, panel, key, count, block.dropped);
  const std::int64_t steps = elements<E>(setup.p.value_width);
  multiply<NV>(d, count, Broadcast<E>{values.at, values.stride, 1},
               static_cast<const E*>(block.grads + lane * steps), wide, steps,
               [&](std::int64_t r, int v, auto sum) HWY_ATTR {
                 const std::int64_t at = r * wide + v * lanes;
                 T* weight = weights + r * kQueryBlock + v * lanes;
                 const V p = hn::Load(d, weight);
                 V grad = sum;
                 if (block.dropped != nullptr) {
                   const V keep = hn::Load(d, block.dropped + at);
                   grad = hn::Mul(grad, keep);
                   hn::Store(hn::Mul(p, keep), d, weight);
                 }
                 if (block.gains == nullptr) {
                   grad = hn::Mul(p, hn::Sub(grad, mean[v]));
                   if (tile.slope != nullptr) grad = hn::Mul(grad, hn::Load(d, tile.slope + at));
                 } else {
                   const V gain = hn::Load(d, block.gains + at);
                   const V lift = local ? p : through ? gain : hn::Zero(d);
                   grad = hn::Sub(hn::Mul(lift, grad), hn::Mul(gain, mean[v]));
                   if (hard) {
                     grad = hn::MulAdd(p, hn::Load(d, block.grad_logp + lane + v * lanes), grad);
                   }
                   if (tile.slope != nullptr) grad = hn::Mul(grad, hn::Load(d, tile.slope + at));
                   // A key without weight has no slope, whatever its value.
                   const auto live = hn::Or(hn::Ne(gain, hn::Zero(d)), hn::Ne(p, hn::Zero(d)));
                   grad = hn::IfThenElseZero(live, grad);
                 }
                 if (cover == Cover::part) {
                   grad = hn::IfThenElseZero(hn::MaskFromVec(hn::Load(d, tile.valid + at)), grad);
                 }
                 hn::Store(grad, d, slopes + r * kQueryBlock + v * lanes);
               });
  return cover;
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
