// Attention forward: online softmax (Milakov & Gimelshein 2018) over blocks of keys (Dao et al.
// 2022), with queries in the lanes of the vectors, so that a row's maximum and sum need no
// horizontal step and keys and values are read where they lie, one broadcast element at a time.
#include <stdexcept>
#include <utility>
#include <vector>

#include "heed/kernels/attention.hpp"
#include "kernels/check.hpp"
#include "kernels/decode.hpp"
#include "kernels/geometry.hpp"
#include "kernels/parallel.hpp"
#include "kernels/rows.hpp"
#include "kernels/scratch.hpp"
#include "kernels/simd_internal.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/context-inl.hpp"
#include "kernels/dropout-inl.hpp"
#include "kernels/exp-inl.hpp"
#include "kernels/finish-inl.hpp"
#include "kernels/scores-inl.hpp"

#ifndef HEED_KERNELS_FORWARD_ONCE
#define HEED_KERNELS_FORWARD_ONCE
namespace heed::kernels {

struct ForwardCall {
  const AttentionProblem& problem;
  const ForwardResult& result;
  const std::vector<Entry>& entries;
  const std::vector<QueryBlock>& blocks;
  WorkQueue& queue;
  bool pairs;  // products take bfloat16 as it is
};

}  // namespace heed::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Keys of a block: as many bytes of them for pairs as for numbers.
template <class E>
constexpr std::int64_t kBlock = std::int64_t{kNumbers<E>} * kKeyBlock;

/// What one thread needs, allocated once a call. E: elements of the two products.
template <class T, class E>
struct ForwardScratch {
  explicit ForwardScratch(const AttentionProblem& p)
      : queries(operands.take(kQueryBlock * elements<E>(panel_width(p)))),
        keys(operands.take(kBlock<E> * elements<E>(p.width))),
        values(operands.take(kBlock<E> * p.value_width)),
        weights(kNumbers<E> > 1 ? operands.take(kBlock<E> * kQueryBlock) : nullptr),
        context(memory.take(kQueryBlock * p.value_width)),
        rows(memory.take(kQueryBlock * std::max(p.width, p.value_width))),
        plain_values(kNumbers<E> > 1 ? memory.take(kBlock<E> * p.value_width) : nullptr),
        top(memory.take(kQueryBlock)),
        sum(memory.take(kQueryBlock)),
        seen(memory.take(kQueryBlock)),
        dropped(p.dropout > 0 ? memory.take(kBlock<E> * kQueryBlock) : nullptr),
        tile{memory.take(kBlock<E> * kQueryBlock), memory.take(kBlock<E> * kQueryBlock),
             memory.take(kBlock<E> * kQueryBlock), nullptr,
             memory.take(kBlock<E> * kQueryBlock), take_powers(p, memory)} {}

  Scratch<E> operands;
  Scratch<T> memory;
  E* queries;  // panels, see load_panel
  E* keys;
  E* values;
  E* weights;  // pairs: of the tile, rounded; else they stay in the tile
  T* context;  // panels of [V][lanes], not yet divided by `sum`
  T* rows;
  T* plain_values;  // pairs: the values as numbers, where some are not finite
  T* top;           // running maximum of each query's scores
  T* sum;           // running sum of their exponentials
  T* seen;          // lane masks: a key took part
  T* dropped;
  ScoreTile<T> tile;
  bool started[kQueryBlock];    // by first lane of a panel: its context is set
  std::uint8_t bad[kBlock<E>];  // value rows that are not finite
  bool any_bad;
};

/// A block of keys and values, and what is known of it. Rows of values hold kNumbers<E> keys.
template <class T, class E>
struct KeyBlock {
  std::int64_t key, count;
  std::int64_t key_at, value_at;  // first elements in the caller's memory
  Rows<E> keys, values;
  Rows<T> plain_values;  // as numbers, where E is the working type or `checked` found some bad
  bool checked;          // `bad` is filled
};

template <class T, class E>
KeyBlock<T, E> load_block(const AttentionProblem& p, const Entry& e, std::int64_t kv_head,
                          std::int64_t key, std::int64_t count, ForwardScratch<T, E>& x) {
  KeyBlock<T, E> block{key,
                       count,
                       key_element(p.key.stride, e, kv_head, key),
                       key_element(p.value.stride, e, kv_head, key),
                       {},
                       {},
                       {},
                       false};
  if constexpr (std::is_same_v<E, T>) {
    block.keys = view_rows(p.key, p.type, block.key_at, count, p.width, x.keys, p.width);
    block.values =
        view_rows(p.value, p.type, block.value_at, count, p.value_width, x.values, p.value_width);
    block.plain_values = block.values;
  } else if constexpr (kHasPairs) {
    block.keys = view_pairs(p.key, block.key_at, count, p.width, x.keys);
    pair_rows(hn::ScalableTag<std::uint32_t>(), p.value, block.value_at, count, p.value_width,
              x.values);
    block.values = {x.values, p.value_width};
  }
  return block;
}

/// Whether the block has values that are not finite; x.bad says which, and plain_values has them.
template <class T, class E>
bool has_bad_values(const AttentionProblem& p, KeyBlock<T, E>& block, ForwardScratch<T, E>& x) {
  if (block.checked) return x.any_bad;
  block.checked = true;
  if constexpr (!std::is_same_v<E, T>) {
    if (all_finite(p.value, block.value_at, block.count, p.value_width)) {
      return x.any_bad = false;
    }
    copy_rows(p.value.data, p.type, block.value_at, p.value.stride[2], p.value.stride[3],
              block.count, p.value_width, x.plain_values, p.value_width);
    block.plain_values = {x.plain_values, p.value_width};
  }
  return x.any_bad = find_non_finite(block.plain_values, block.count, p.value_width, x.bad);
}

/// The scores of a tile become weights, 2^((score - base) * factor), and are summed. `weights`:
/// where they go as pairs; null: in place of the scores.
template <int NV, class E, class T, class V = hn::Vec<hn::ScalableTag<T>>>
HWY_INLINE void weigh_scores(T* score, std::int64_t count, V factor, const V (&base)[NV],
                             V (&sum)[NV], E* weights) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t wide = NV * lanes;
  using Exponential =
      std::conditional_t<std::is_same_v<E, T>, Exp2Constants<T>, RoughExp2Constants>;
  const auto weigh = [&](std::int64_t r, int v) HWY_ATTR {
    const V drop = hn::Sub(base[v], hn::Load(d, score + r * wide + v * lanes));
    const V p = exp2_drop_as<Exponential>(d, drop, factor);
    sum[v] = hn::Add(sum[v], p);
    return p;
  };
  if constexpr (kHasPairs && !std::is_same_v<E, T>) {
    if (weights != nullptr) {
      std::int64_t r = 0;
      for (; r + 2 <= count; r += 2) {
        for (int v = 0; v < NV; ++v) {
          const V even = weigh(r, v), odd = weigh(r + 1, v);
          store_pairs(even, odd, weights + r / 2 * wide + v * lanes);
        }
      }
      for (int v = 0; v < NV && r < count; ++v) {
        store_pairs(weigh(r, v), hn::Zero(d), weights + r / 2 * wide + v * lanes);
      }
      return;
    }
  }
  for (std::int64_t r = 0; r < count; ++r) {
    for (int v = 0; v < NV; ++v) hn::Store(weigh(r, v), d, score + r * wide + v * lanes);
  }
}

/// Takes keys `from` .. `to` of the block into the running softmax of one panel, which begins at
/// lane `first_lane` of the block of queries.
template <int NV, class T, class E>
void forward_panel(const ScoreSetup<T>& setup, Panel panel, std::int64_t first_lane,
                   KeyBlock<T, E>& block, std::int64_t from, std::int64_t to,
                   ForwardScratch<T, E>& x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t wide = NV * lanes, skip = from - block.key, count = to - from;
  const AttentionProblem& p = setup.p;
  const Rows<E> keys{block.keys.at + skip * block.keys.stride, block.keys.stride};
  V top[NV], keep[NV], base[NV];
  const std::int64_t begin = first_lane - panel.skip;  // of the whole panel
  const E* queries = x.queries + begin * elements<E>(panel_width(p)) + panel.skip;
  const Cover cover = score_tile<NV>(setup, panel, queries, keys, from, count, x.tile, top);
  if (cover == Cover::none) return;

  const V factor = hn::Set(d, setup.factor());
  const V lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  V sum[NV];
  for (int v = 0; v < NV; ++v) {
    const V old = hn::Load(d, x.top + first_lane + v * lanes);
    top[v] = hn::Max(old, top[v]);
    hn::Store(top[v], d, x.top + first_lane + v * lanes);
    base[v] = hn::IfThenZeroElse(hn::Eq(top[v], lowest), top[v]);
    keep[v] = exp2_drop(d, hn::Sub(base[v], old), factor);
    sum[v] = hn::Zero(d);
  }
  const bool guarded = cover == Cover::part && has_bad_values(p, block, x);
  const bool rounded = kNumbers<E> > 1 && !guarded;  // weights are taken as pairs
  weigh_scores<NV, E>(x.tile.score, count, factor, base, sum,
                      rounded && x.dropped == nullptr ? x.weights : nullptr);
  for (int v = 0; v < NV; ++v) {
    T* at = x.sum + first_lane + v * lanes;
    hn::Store(hn::MulAdd(hn::Load(d, at), keep[v], sum[v]), d, at);
    T* seen = x.seen + first_lane + v * lanes;
    V any = hn::Load(d, seen);
    if (cover == Cover::all) {
      any = hn::VecFromMask(d, hn::Eq(hn::Zero(d), hn::Zero(d)));
    } else {
      for (std::int64_t r = 0; r < count; ++r) {
        any = hn::Or(any, hn::Load(d, x.tile.valid + r * wide + v * lanes));
      }
    }
    hn::Store(any, d, seen);
  }

  if (x.dropped != nullptr) {
    dropout_tile(setup, panel, from, count, x.dropped);
    for (std::int64_t i = 0; i < count * wide; ++i) x.tile.score[i] *= x.dropped[i];
    if constexpr (kHasPairs && !std::is_same_v<E, T>) {
      if (rounded) pair_weights(x.tile.score, wide, count, wide, x.weights);
    }
  }
  T* context = x.context + begin * p.value_width;
  bool fresh = !std::exchange(x.started[begin], true);
  if (fresh && (guarded || panel.skip > 0)) {
    std::fill(context, context + p.value_width * panel.pitch(), T{0});
    fresh = false;
  }
  context += panel.skip;
  if (guarded) {
    const Rows<T> values{block.plain_values.at + skip * block.plain_values.stride,
                         block.plain_values.stride};
    add_weighted_rows_guarded<NV>(x.tile.score, wide, x.tile.valid, x.bad + skip, values, count,
                                  p.value_width, keep, context, panel.pitch());
    return;
  }
  const Rows<E> values{block.values.at + skip / kNumbers<E> * block.values.stride,
                       block.values.stride};
  const E* weights;
  if constexpr (std::is_same_v<E, T>) {
    weights = x.tile.score;
  } else {
    weights = x.weights;
  }
  add_weighted_rows<NV>(weights, wide, values, elements<E>(count), p.value_width, keep, context,
                        panel.pitch(), fresh);
}

/// Has panel `i` of `panels` bring its share of the `rows` keys and values behind the block near.
template <class T, class E>
void look_ahead(const KeyBlock<T, E>& block, std::int64_t rows, std::int64_t i, std::int64_t panels,
                const AttentionProblem& p, ForwardScratch<T, E>& x) {
  constexpr std::int64_t kLine = 64;
  const auto share = [&](const Input& from, std::int64_t element, std::int64_t width) {
    const std::int64_t size = size_of(p.type), bytes = size * width;
    const std::int64_t lines = (bytes + kLine - 1) / kLine, each = (lines + panels - 1) / panels;
    const std::int64_t begin = std::min(bytes, i * each * kLine);
    return Ahead{static_cast<const char*>(from.data) +
                     (element + block.count * from.stride[2]) * size + begin,
                 from.stride[2] * size, from.stride[3] == 1 ? rows : 0,
                 std::min(bytes - begin, each * kLine)};
  };
  x.tile.keys = share(p.key, block.key_at, p.width);
  x.tile.values = share(p.value, block.value_at, p.value_width);
}

/// Divides by the sums and writes a panel's results.
template <class T, class E>
void finish_panel(const ScoreSetup<T>& setup, Panel panel, std::int64_t first_lane,
                  const ForwardResult& result, ForwardScratch<T, E>& x) {
  const AttentionProblem& p = setup.p;
  T* context = x.context + first_lane * p.value_width;
  T divide[kQueryBlock] = {};
  for (std::int64_t lane = 0; lane < panel.count; ++lane) {
    const bool empty = std::bit_cast<LaneBits<T>>(x.seen[first_lane + lane]) == 0;
    divide[lane] =
        finish_row(setup, panel.query + lane,
                   RowEnd<T>{x.top[first_lane + lane], x.sum[first_lane + lane], empty}, result);
  }
  if (result.out.data == nullptr) return;
  if (!x.started[first_lane]) std::fill(context, context + p.value_width * panel.lanes, T{0});
  const auto& stride = result.out.stride;
  const std::int64_t element = query_element(stride, setup.e, setup.head, panel.query);
  const bool direct = stride[3] == 1 && p.type == (sizeof(T) == 8 ? Type::float64 : Type::float32);
  if (direct) {
    panel_to_rows(context, panel.count, p.value_width, panel.lanes,
                  static_cast<T*>(result.out.data) + element, stride[2], divide);
    return;
  }
  panel_to_rows(context, panel.count, p.value_width, panel.lanes, x.rows, p.value_width, divide);
  for (std::int64_t i = 0; i < panel.count; ++i) {
    store_row(x.rows + i * p.value_width, p.value_width, result.out, p.type,
              element + i * stride[2]);
  }
}

/// Queries of the block as panels; returns their number.
template <class T, class E>
std::int64_t load_queries(const AttentionProblem& p, const Entry& e, const QueryBlock& item,
                          Panel* panels, ForwardScratch<T, E>& x) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < item.count;) {
    const Panel panel = next_panel(item.query + i, item.count - i, lanes);
    const std::int64_t element = query_element(p.query.stride, e, item.head, panel.query);
    E* to = x.queries + i * elements<E>(panel_width(p));
    if constexpr (std::is_same_v<E, T>) {
      load_panel(p, view_rows(p.query, p.type, element, panel.count, p.width, x.rows, p.width),
                 panel, to);
    } else if constexpr (kHasPairs) {
      pairs_to_panel(p.query, element, panel.count, p.width, panel.lanes,
                     reinterpret_cast<Pair*>(x.rows), to);
    }
    panels[count++] = panel;
    i += panel.lanes;
  }
  return count;
}

/// The key behind the last one that the left half of a wide panel sees: from there on the right
/// half goes alone, so that less is computed beyond the diagonal.
inline std::int64_t half_range(const AttentionProblem& p, const Entry& e, Panel panel,
                               std::int64_t lanes) {
  const std::int64_t half = panel.lanes / 2;
  const bool wide = panel.lanes > 2 * lanes && panel.count > half && p.score == Score::dot;
  return wide ? e.end_key(panel.query + half - 1) : e.keys;
}

template <class T, class E>
void forward_block(const ForwardCall& call, const QueryBlock& item, ForwardScratch<T, E>& x) {
  const AttentionProblem& p = call.problem;
  const Entry& e = call.entries[static_cast<std::size_t>(item.entry)];
  const ScoreSetup<T> setup(p, e, item.head);
  const std::int64_t kv_head = item.head / (p.heads / p.kv_heads);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  Panel panels[kQueryBlock];
  const std::int64_t panel_count = load_queries(p, e, item, panels, x);
  std::fill(x.started, x.started + kQueryBlock, false);
  std::fill(x.top, x.top + kQueryBlock, -std::numeric_limits<T>::infinity());
  std::fill(x.sum, x.sum + kQueryBlock, T{0});
  std::fill(x.seen, x.seen + kQueryBlock, T{0});

  const std::int64_t begin = e.begin_key(item.query), end = e.end_key(item.query + item.count - 1);
  for (std::int64_t key = begin / kBlock<E> * kBlock<E>; key < end; key += kBlock<E>) {
    const std::int64_t count = std::min(kBlock<E>, end - key);
    KeyBlock<T, E> block = load_block(p, e, kv_head, key, count, x);
    // Ranges begin and end with whole rows of values; the mask takes out what this adds.
    const auto whole = [&](std::int64_t at) {
      return std::min(key + count, key + elements<E>(at - key) * kNumbers<E>);
    };
    const auto take = [&](Panel panel, std::int64_t from, std::int64_t to) HWY_ATTR {
      if (from >= to) return;
      with_vectors(panel.lanes / lanes, [&](auto vectors) HWY_ATTR {
        forward_panel<vectors.value>(setup, panel, panel.query - item.query, block, from, to, x);
      });
    };
    for (std::int64_t i = 0; i < panel_count; ++i) {
      const Panel panel = panels[i];
      std::int64_t from = std::max(key, e.begin_key(panel.query));
      std::int64_t to = std::min(key + count, e.end_key(panel.query + panel.count - 1));
      if (from >= to) continue;
      from -= (from - key) % kNumbers<E>, to = whole(to);
      const std::int64_t middle = whole(std::max(from, half_range(p, e, panel, lanes)));
      look_ahead(block, std::min(kBlock<E>, end - key - count), i, panel_count, p, x);
      if (middle < to) {
        const std::int64_t half = panel.lanes / 2;
        take(panel, from, middle);
        take({panel.query + half, panel.count - half, half, half}, middle, to);
      } else {
        take(panel, from, to);
      }
    }
  }
  for (std::int64_t i = 0; i < panel_count; ++i) {
    finish_panel(setup, panels[i], panels[i].query - item.query, call.result, x);
  }
}

template <class T, class E>
void forward_worker(const ForwardCall& call) {
  ForwardScratch<T, E> scratch(call.problem);
  [[maybe_unused]] const TileSession tiles(call.pairs);
  std::int64_t item;
  while (call.queue.next(item)) {
    forward_block(call, call.blocks[static_cast<std::size_t>(item)], scratch);
  }
}

void forward_impl(const ForwardCall& call) {
  if (call.problem.type == Type::float64) return forward_worker<double, double>(call);
  if constexpr (kHasPairs) {
    if (call.pairs) return forward_worker<float, Pair>(call);
  }
  forward_worker<float, float>(call);
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(forward_impl);

void attention_forward(const AttentionProblem& problem, const ForwardResult& result) {
  check_problem(problem);
  apply_simd_environment();
  const std::vector<Entry> entries = make_entries(problem);
  const std::vector<QueryBlock> blocks = make_query_blocks(problem, entries);
  const auto items = static_cast<std::int64_t>(blocks.size());
  if (problem.align != Align::soft) return rows_forward(problem, result, entries, blocks);
  decode_forward(problem, result, entries);
  WorkQueue queue(items);
  const bool pairs =
      problem.type == Type::bfloat16 && problem.score == Score::dot && pair_products();
  const ForwardCall call{problem, result, entries, blocks, queue, pairs};
  run_workers(items, product_work(problem, entries), [&] {
    HWY_DYNAMIC_DISPATCH(forward_impl)(call);
  });
}

}  // namespace heed::kernels
#endif
