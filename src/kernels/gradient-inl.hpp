// Gradients of a tile of scores, compiled per target.
#if defined(HEED_KERNELS_GRADIENT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_GRADIENT_INL
#undef HEED_KERNELS_GRADIENT_INL
#else
#define HEED_KERNELS_GRADIENT_INL
#endif

#include <hwy/highway.h>

#include <algorithm>

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
/// [kKeyBlock][kQueryBlock], one row a key, one column a query.
template <class T>
struct GradientBlock {
  explicit GradientBlock(const AttentionProblem& p)
      : width(pad(p.width)),
        value_width(pad(p.value_width)),
        weights(memory.take(kKeyBlock * kQueryBlock)),
        slopes(memory.take(kKeyBlock * kQueryBlock)),
        rows(memory.take(kQueryBlock * width)),
        grad_rows(memory.take(kQueryBlock * value_width)),
        queries(memory.take(kQueryBlock * p.width)),
        grads(memory.take(kQueryBlock * p.value_width)),
        out(memory.take(value_width)),
        top(memory.take(kQueryBlock)),
        divide(memory.take(kQueryBlock)),
        mean(memory.take(kQueryBlock)),
        dropped(p.dropout > 0 ? memory.take(kKeyBlock * kQueryBlock) : nullptr),
        tile{memory.take(kKeyBlock * kQueryBlock), memory.take(kKeyBlock * kQueryBlock),
             memory.take(kKeyBlock * kQueryBlock),
             has_plain_scores(p) ? nullptr : memory.take(kKeyBlock * kQueryBlock),
             memory.take(kKeyBlock * kQueryBlock)} {}

  static std::int64_t pad(std::int64_t n) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
    return (n + lanes - 1) / lanes * lanes;
  }

  /// Queries `first` .. `first + number` of the head.
  void load(const ScoreSetup<T>& setup, std::int64_t first, std::int64_t number,
            const BackwardInputs& inputs) {
    const AttentionProblem& p = setup.p;
    const Entry& e = setup.e;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
    query = first, count = number, panel_count = 0, checked = false;
    const auto copy = [&](const Input& from, std::int64_t row, std::int64_t n, std::int64_t of,
                          T* to, std::int64_t pitch) {
      copy_rows(from.data, p.type, query_element(from.stride, e, setup.head, row), from.stride[2],
                from.stride[3], n, of, to, pitch);
    };
    copy(p.query, first, number, p.width, rows, width);
    copy(inputs.grad_out, first, number, p.value_width, grad_rows, value_width);
    std::fill(top, top + kQueryBlock, T{0});
    std::fill(divide, divide + kQueryBlock, T{0});
    std::fill(mean, mean + kQueryBlock, T{0});
    for (std::int64_t i = 0; i < number; ++i) {
      const T* state =
          static_cast<const T*>(inputs.state) + 2 * e.query_row(p.heads, setup.head, first + i);
      top[i] = state[0], divide[i] = state[1];
      copy(inputs.out, first + i, 1, p.value_width, out, value_width);
      mean[i] = dot_rows(grad_rows + i * value_width, out, value_width);
    }
    for (std::int64_t i = 0; i < number;) {
      const Panel panel = next_panel(first + i, number - i, lanes);
      rows_to_panel(Rows<T>{rows + i * width, width}, panel.count, p.width, panel.lanes,
                    queries + i * p.width);
      rows_to_panel(Rows<T>{grad_rows + i * value_width, value_width}, panel.count, p.value_width,
                    panel.lanes, grads + i * p.value_width);
      panels[panel_count++] = panel;
      i += panel.lanes;
    }
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

  std::int64_t width, value_width;  // padded to whole vectors
  Scratch<T> memory;
  T* weights;    // after dropout: what multiplies the output gradient
  T* slopes;     // d loss / d dot product, without the scale when the scores are plain
  T* rows;       // queries [count][width]
  T* grad_rows;  // output gradients [count][value_width]
  T* queries;    // the same in panels of [D][lanes]
  T* grads;      // and [V][lanes]
  T* out;
  T* top;
  T* divide;
  T* mean;  // Σ_k weight * d loss / d weight = grad_out · out
  T* dropped;
  ScoreTile<T> tile;
  Panel panels[kQueryBlock];
  std::uint8_t bad[kQueryBlock];
  std::int64_t query = 0, count = 0, panel_count = 0;
  bool checked = false, any_bad = false;
};

/// Fills the panel's columns of block.weights and block.slopes for keys `key` .. `key + count`;
/// with zeros where no pair takes part.
template <int NV, class T>
Cover gradient_tile(const ScoreSetup<T>& setup, Panel panel, std::int64_t lane, Rows<T> keys,
                    Rows<T> values, std::int64_t key, std::int64_t count, GradientBlock<T>& block) {
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
    cover = score_tile<NV>(setup, panel, block.queries + lane * setup.p.width, keys, key, count,
                           tile, top);
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

  const V factor = hn::Set(d, setup.factor());
  V divide[NV], mean[NV];
  for (int v = 0; v < NV; ++v) {
    top[v] = hn::Load(d, block.top + lane + v * lanes);
    divide[v] = hn::Load(d, block.divide + lane + v * lanes);
    mean[v] = hn::Load(d, block.mean + lane + v * lanes);
  }
  for (std::int64_t r = 0; r < count; ++r) {
    for (int v = 0; v < NV; ++v) {
      const V score = hn::Load(d, tile.score + r * wide + v * lanes);
      const V p = exp2_softmax(d, hn::Mul(hn::Sub(score, top[v]), factor));
      hn::Store(hn::Mul(p, divide[v]), d, weights + r * kQueryBlock + v * lanes);
    }
  }
  if (block.dropped != nullptr) dropout_tile(setup, panel, key, count, block.dropped);
  multiply<NV>(d, count, Broadcast<T>{values.at, values.stride, 1},
               block.grads + lane * setup.p.value_width, wide, setup.p.value_width,
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
                 grad = hn::Mul(p, hn::Sub(grad, mean[v]));
                 if (tile.slope != nullptr) grad = hn::Mul(grad, hn::Load(d, tile.slope + at));
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
