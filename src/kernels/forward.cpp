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
};

}  // namespace heed::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What one thread needs, allocated once a call.
template <class T>
struct ForwardScratch {
  explicit ForwardScratch(const AttentionProblem& p)
      : queries(memory.take(kQueryBlock * panel_width(p))),
        context(memory.take(kQueryBlock * p.value_width)),
        rows(memory.take(kQueryBlock * std::max(p.width, p.value_width))),
        keys(memory.take(kKeyBlock * p.width)),
        values(memory.take(kKeyBlock * p.value_width)),
        top(memory.take(kQueryBlock)),
        sum(memory.take(kQueryBlock)),
        seen(memory.take(kQueryBlock)),
        dropped(p.dropout > 0 ? memory.take(kKeyBlock * kQueryBlock) : nullptr),
        tile{memory.take(kKeyBlock * kQueryBlock), memory.take(kKeyBlock * kQueryBlock),
             memory.take(kKeyBlock * kQueryBlock), nullptr,
             memory.take(kKeyBlock * kQueryBlock), take_powers(p, memory)} {}

  Scratch<T> memory;
  T* queries;  // panels, see load_panel
  T* context;  // panels of [V][lanes], not yet divided by `sum`
  T* rows;
  T* keys;
  T* values;
  T* top;   // running maximum of each query's scores
  T* sum;   // running sum of their exponentials
  T* seen;  // lane masks: a key took part
  T* dropped;
  ScoreTile<T> tile;
  bool started[kQueryBlock];    // by first lane of a panel: its context is set
  std::uint8_t bad[kKeyBlock];  // value rows that are not finite
  bool any_bad;
};

/// A block of keys and values, and what is known of it.
template <class T>
struct KeyBlock {
  std::int64_t key, count;
  Rows<T> keys, values;
  bool checked;  // `bad` is filled
};

/// Takes keys `from` .. `to` of the block into the running softmax of one panel.
template <int NV, class T>
void forward_panel(const ScoreSetup<T>& setup, Panel panel, std::int64_t first_lane,
                   KeyBlock<T>& block, std::int64_t from, std::int64_t to, ForwardScratch<T>& x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t wide = NV * lanes, skip = from - block.key, count = to - from;
  const Rows<T> keys{block.keys.at + skip * block.keys.stride, block.keys.stride};
  const Rows<T> values{block.values.at + skip * block.values.stride, block.values.stride};
  V top[NV], keep[NV], base[NV];
  const Cover cover = score_tile<NV>(setup, panel, x.queries + first_lane * panel_width(setup.p),
                                     keys, from, count, x.tile, top);
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
  T* score = x.tile.score;
  for (std::int64_t r = 0; r < count; ++r) {
    for (int v = 0; v < NV; ++v) {
      T* at = score + r * wide + v * lanes;
      const V p = exp2_drop(d, hn::Sub(base[v], hn::Load(d, at)), factor);
      sum[v] = hn::Add(sum[v], p);
      hn::Store(p, d, at);
    }
  }
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
  }
  T* context = x.context + first_lane * setup.p.value_width;
  if (cover == Cover::part && !block.checked) {
    x.any_bad = find_non_finite(block.values, block.count, setup.p.value_width, x.bad);
    block.checked = true;
  }
  const bool fresh = !std::exchange(x.started[first_lane], true);
  if (cover == Cover::part && x.any_bad) {
    if (fresh) std::fill(context, context + setup.p.value_width * wide, T{0});
    add_weighted_rows_guarded<NV>(x.tile.score, wide, x.tile.valid, x.bad + skip, values, count,
                                  setup.p.value_width, keep, context);
  } else {
    add_weighted_rows<NV>(x.tile.score, wide, values, count, setup.p.value_width, keep, context,
                          fresh);
  }
}

/// Has panel `i` of `panels` bring its share of the `rows` keys and values behind the block near.
template <class T>
void look_ahead(const KeyBlock<T>& block, std::int64_t rows, std::int64_t i, std::int64_t panels,
                const AttentionProblem& p, ForwardScratch<T>& x) {
  constexpr std::int64_t kLine = 64;
  const auto share = [&](Rows<T> from, const T* copy, std::int64_t width) {
    if (from.at == copy) return Ahead{};
    const auto bytes = static_cast<std::int64_t>(sizeof(T)) * width;
    const std::int64_t lines = (bytes + kLine - 1) / kLine, each = (lines + panels - 1) / panels;
    const std::int64_t begin = std::min(bytes, i * each * kLine);
    return Ahead{reinterpret_cast<const char*>(from.at + block.count * from.stride) + begin,
                 from.stride * static_cast<std::ptrdiff_t>(sizeof(T)), rows,
                 std::min(bytes - begin, each * kLine)};
  };
  x.tile.keys = share(block.keys, x.keys, p.width);
  x.tile.values = share(block.values, x.values, p.value_width);
}

/// Divides by the sums and writes a panel's results.
template <class T>
void finish_panel(const ScoreSetup<T>& setup, Panel panel, std::int64_t first_lane,
                  const ForwardResult& result, ForwardScratch<T>& x) {
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

template <class T>
void forward_block(const ForwardCall& call, const QueryBlock& item, ForwardScratch<T>& x) {
  const AttentionProblem& p = call.problem;
  const Entry& e = call.entries[static_cast<std::size_t>(item.entry)];
  const ScoreSetup<T> setup(p, e, item.head);
  const std::int64_t kv_head = item.head / (p.heads / p.kv_heads);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));

  const Rows<T> queries =
      view_rows(p.query, p.type, query_element(p.query.stride, e, item.head, item.query),
                item.count, p.width, x.rows, p.width);
  Panel panels[kQueryBlock];
  std::int64_t panel_count = 0;
  for (std::int64_t i = 0; i < item.count;) {
    const Panel panel = next_panel(item.query + i, item.count - i, lanes);
    load_panel(p, Rows<T>{queries.at + i * queries.stride, queries.stride}, panel,
               x.queries + i * panel_width(p));
    panels[panel_count++] = panel;
    i += panel.lanes;
  }
  std::fill(x.started, x.started + kQueryBlock, false);
  std::fill(x.top, x.top + kQueryBlock, -std::numeric_limits<T>::infinity());
  std::fill(x.sum, x.sum + kQueryBlock, T{0});
  std::fill(x.seen, x.seen + kQueryBlock, T{0});

  const std::int64_t begin = e.begin_key(item.query), end = e.end_key(item.query + item.count - 1);
  for (std::int64_t key = begin / kKeyBlock * kKeyBlock; key < end; key += kKeyBlock) {
    const std::int64_t count = std::min(kKeyBlock, end - key);
    KeyBlock<T> block{key, count,
                      view_rows(p.key, p.type, key_element(p.key.stride, e, kv_head, key), count,
                                p.width, x.keys, p.width),
                      view_rows(p.value, p.type, key_element(p.value.stride, e, kv_head, key),
                                count, p.value_width, x.values, p.value_width),
                      false};
    for (std::int64_t i = 0; i < panel_count; ++i) {
      const Panel panel = panels[i];
      const std::int64_t from = std::max(key, e.begin_key(panel.query));
      const std::int64_t to = std::min(key + count, e.end_key(panel.query + panel.count - 1));
      if (from >= to) continue;
      look_ahead(block, std::min(kKeyBlock, end - key - count), i, panel_count, p, x);
      with_vectors(panel.lanes / lanes, [&](auto vectors) HWY_ATTR {
        forward_panel<vectors.value>(setup, panel, panel.query - item.query, block, from, to, x);
      });
    }
  }
  for (std::int64_t i = 0; i < panel_count; ++i) {
    finish_panel(setup, panels[i], panels[i].query - item.query, call.result, x);
  }
}

template <class T>
void forward_worker(const ForwardCall& call) {
  ForwardScratch<T> scratch(call.problem);
  std::int64_t item;
  while (call.queue.next(item)) {
    forward_block(call, call.blocks[static_cast<std::size_t>(item)], scratch);
  }
}

void forward_impl(const ForwardCall& call) {
  if (call.problem.type == Type::float64) {
    forward_worker<double>(call);
  } else {
    forward_worker<float>(call);
  }
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
  const ForwardCall call{problem, result, entries, blocks, queue};
  run_workers(items, product_work(problem, entries), [&] {
    HWY_DYNAMIC_DISPATCH(forward_impl)(call);
  });
}

}  // namespace heed::kernels
#endif
