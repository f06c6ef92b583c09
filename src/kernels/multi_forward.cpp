// Multi-dimensional additive attention, forward: for each query a running softmax over the keys for
// every feature, features in lanes.
#include <vector>

#include "heed/kernels/multi.hpp"
#include "kernels/check.hpp"
#include "kernels/geometry.hpp"
#include "kernels/parallel.hpp"
#include "kernels/scratch.hpp"
#include "kernels/simd_internal.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/multi_forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/multi-inl.hpp"

#ifndef HEED_KERNELS_MULTI_FORWARD_ONCE
#define HEED_KERNELS_MULTI_FORWARD_ONCE
namespace heed::kernels {

constexpr std::int64_t kMultiQueries = 16;  // that share the exponentials of a tile of keys

struct MultiForwardCall {
  const AttentionProblem& problem;
  const MultiForward& result;
  const std::vector<Entry>& entries;
  const std::vector<QueryBlock>& blocks;
  WorkQueue& queue;
};

}  // namespace heed::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct MultiForwardScratch {
  explicit MultiForwardScratch(const AttentionProblem& p)
      : queries(p, kMultiQueries, memory),
        keys(p, kMultiKeys, memory),
        tile(p, memory),
        values(memory.take(kMultiKeys * tile.value_width)),
        top(memory.take(kMultiQueries * tile.value_width)),
        sum(memory.take(kMultiQueries * tile.value_width)),
        context(memory.take(kMultiQueries * tile.value_width)) {}

  Scratch<T> memory;
  HiddenRows<T> queries, keys;
  MultiTile<T> tile;
  T* values;   // [keys][value_width]
  T* top;      // running maximum of each query and feature
  T* sum;      // running sum of the exponentials
  T* context;  // not yet divided by it
};

/// Takes the tile's keys into the softmax of query `q` of the block.
template <class T>
void multi_step(std::int64_t q, std::int64_t count, MultiForwardScratch<T>& x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const MultiTile<T>& tile = x.tile;
  const V log2e = hn::Set(d, static_cast<T>(1.4426950408889634074));
  const V lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  for (std::int64_t c = 0; c < tile.value_width; c += lanes) {
    const std::int64_t at = q * tile.value_width + c;
    const V old = hn::Load(d, x.top + at);
    V top = old;
    for (std::int64_t r = 0; r < count; ++r) {
      if (tile.takes(r)) top = hn::Max(top, hn::Load(d, tile.score + r * tile.value_width + c));
    }
    const V base = hn::IfThenZeroElse(hn::Eq(top, lowest), top);
    const V keep = exp2_drop(d, hn::Sub(base, old), log2e);
    V sum = hn::Mul(hn::Load(d, x.sum + at), keep);
    V context = hn::Mul(hn::Load(d, x.context + at), keep);
    for (std::int64_t r = 0; r < count; ++r) {
      if (!tile.takes(r)) continue;
      const V score = hn::Load(d, tile.score + r * tile.value_width + c);
      const V p = exp2_drop(d, hn::Sub(base, score), log2e);
      const V used = hn::Mul(p, hn::Set(d, tile.kept[r]));
      sum = hn::Add(sum, p);
      context = hn::MulAdd(used, hn::Load(d, x.values + r * tile.value_width + c), context);
    }
    hn::Store(top, d, x.top + at);
    hn::Store(sum, d, x.sum + at);
    hn::Store(context, d, x.context + at);
  }
}

template <class T>
void multi_forward_block(const MultiForwardCall& call, const QueryBlock& block,
                         MultiForwardScratch<T>& x) {
  const AttentionProblem& p = call.problem;
  const Entry& e = call.entries[static_cast<std::size_t>(block.entry)];
  const ScoreSetup<T> setup(p, e, block.head);
  const std::int64_t kv_head = block.head / (p.heads / p.kv_heads);
  const std::int64_t wide = x.tile.value_width, size = kMultiQueries * wide;
  x.tile.load_matrix(p, block.head);
  x.queries.load(p, p.query, query_element(p.query.stride, e, block.head, block.query),
                 block.count);
  std::fill(x.top, x.top + size, -std::numeric_limits<T>::infinity());
  std::fill(x.sum, x.sum + size, T{0});
  std::fill(x.context, x.context + size, T{0});
  const std::int64_t begin = e.begin_key(block.query) / kMultiKeys * kMultiKeys;
  const std::int64_t end = e.end_key(block.query + block.count - 1);
  for (std::int64_t key = begin; key < end; key += kMultiKeys) {
    const std::int64_t count = std::min(kMultiKeys, end - key);
    x.keys.load(p, p.key, key_element(p.key.stride, e, kv_head, key), count);
    copy_rows(p.value.data, p.type, key_element(p.value.stride, e, kv_head, key), p.value.stride[2],
              p.value.stride[3], count, p.value_width, x.values, wide);
    for (std::int64_t q = 0; q < block.count; ++q) {
      if (!fill_pairs(setup, block.query + q, key, count, x.tile)) continue;
      fill_hidden<false>(p, x.queries, q, x.keys, 0, count, x.tile);
      fill_scores(p, count, x.tile);
      fill_kept(setup, block.query + q, key, count, x.tile);
      multi_step(q, count, x);
    }
  }
  for (std::int64_t q = 0; q < block.count; ++q) {
    const std::int64_t row = e.query_row(p.heads, block.head, block.query + q);
    T* context = x.context + q * wide;
    for (std::int64_t c = 0; c < p.value_width; ++c) {
      const T sum = x.sum[q * wide + c], divide = sum > T{0} ? T{1} / sum : T{0};
      context[c] *= divide;
      if (call.result.state == nullptr) continue;
      T* state = static_cast<T*>(call.result.state) + 2 * row * p.value_width;
      state[c] = sum > T{0} ? x.top[q * wide + c] : T{0};
      state[p.value_width + c] = divide;
    }
    store_row(context, p.value_width, call.result.out, p.type,
              query_element(call.result.out.stride, e, block.head, block.query + q));
  }
}

template <class T>
void multi_forward_worker(const MultiForwardCall& call) {
  MultiForwardScratch<T> scratch(call.problem);
  std::int64_t item;
  while (call.queue.next(item)) {
    multi_forward_block(call, call.blocks[static_cast<std::size_t>(item)], scratch);
  }
}

void multi_forward_impl(const MultiForwardCall& call) {
  if (call.problem.type == Type::float64) {
    multi_forward_worker<double>(call);
  } else {
    multi_forward_worker<float>(call);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(multi_forward_impl);

void multi_forward(const AttentionProblem& problem, const MultiForward& result) {
  check_multi(problem);
  apply_simd_environment();
  const std::vector<Entry> entries = make_entries(problem);
  std::vector<QueryBlock> blocks;
  for (const Entry& e : entries) {
    for (std::int64_t head = 0; head < problem.heads; ++head) {
      for (std::int64_t query = 0; query < e.queries; query += kMultiQueries) {
        blocks.push_back({e.index, head, query, std::min(kMultiQueries, e.queries - query)});
      }
    }
  }
  WorkQueue queue(static_cast<std::int64_t>(blocks.size()));
  const MultiForwardCall call{problem, result, entries, blocks, queue};
  const double work = product_work(problem, entries) * static_cast<double>(problem.width);
  run_workers(queue.count(), work, [&] { HWY_DYNAMIC_DISPATCH(multi_forward_impl)(call); });
}

}  // namespace heed::kernels
#endif
