// Multi-dimensional additive attention, backward: hidden layers and weights are computed again. A
// chunk of keys owns its key and value gradients; query gradients are added chunk by chunk in order
// (Turns), and the gradient of Wd is kept for each chunk and summed in order.
#include <cstddef>
#include <vector>

#include "heed/kernels/multi.hpp"
#include "kernels/backward_call.hpp"
#include "kernels/check.hpp"
#include "kernels/scratch.hpp"
#include "kernels/simd_internal.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/multi_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/key_gradients-inl.hpp"
#include "kernels/multi-inl.hpp"

#ifndef HEED_KERNELS_MULTI_BACKWARD_ONCE
#define HEED_KERNELS_MULTI_BACKWARD_ONCE
namespace heed::kernels {

constexpr std::int64_t kMultiBlock = 16;  // queries whose gradients are added in one turn

struct MultiBackwardCall {
  const AttentionProblem& problem;
  const MultiBackwardInputs& inputs;
  const MultiBackward& result;
  const std::vector<Entry>& entries;
  const std::vector<KeyChunk>& chunks;
  void* query_sums;   // [rows, D], working type
  void* weight_sums;  // [chunks, heads of a group, D, V], working type
  WorkQueue& queue;
  Turns& turns;
};

}  // namespace heed::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct MultiBackwardScratch {
  explicit MultiBackwardScratch(const AttentionProblem& p)
      : queries(p, kMultiBlock, memory),
        keys(p, kChunk, memory),
        tile(p, memory),
        turned(memory.take(p.value_width * tile.width)),
        values(memory.take(kChunk * tile.value_width)),
        grads(memory.take(tile.value_width)),
        out(memory.take(tile.value_width)),
        top(memory.take(tile.value_width)),
        divide(memory.take(tile.value_width)),
        slopes(memory.take(kMultiKeys * tile.value_width)),
        query_sums(memory.take(kMultiBlock * tile.width)),
        key_sums(memory.take(kChunk * tile.width)),
        value_sums(memory.take(kChunk * tile.value_width)),
        weight_sums(memory.take(p.width * tile.value_width)) {}

  Scratch<T> memory;
  HiddenRows<T> queries, keys;
  MultiTile<T> tile;
  T* turned;  // Wd transposed, [V][width]
  T* values;  // [keys][value_width]
  T* grads;   // of the query's output
  T* out;
  T* top;
  T* divide;
  T* slopes;  // d loss / d (hidden · Wd), [keys][value_width]
  T* query_sums;
  T* key_sums;
  T* value_sums;
  T* weight_sums;
};

/// One query against one tile of keys, `first` of the chunk and on.
template <class T>
void multi_gradients(const ScoreSetup<T>& setup, std::int64_t q, std::int64_t first,
                     std::int64_t count, MultiBackwardScratch<T>& x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const AttentionProblem& p = setup.p;
  MultiTile<T>& tile = x.tile;
  const std::int64_t wide = tile.value_width;
  const V log2e = hn::Set(d, static_cast<T>(1.4426950408889634074));
  const V scale = hn::Set(d, static_cast<T>(p.scale));
  for (std::int64_t c = 0; c < wide; c += lanes) {
    const V top = hn::Load(d, x.top + c), divide = hn::Load(d, x.divide + c);
    const V grad = hn::Load(d, x.grads + c), mean = hn::Mul(grad, hn::Load(d, x.out + c));
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t at = r * wide + c;
      if (!tile.takes(r)) {
        hn::Store(hn::Zero(d), d, x.slopes + at);
        continue;
      }
      const V share = exp2_drop(d, hn::Sub(top, hn::Load(d, tile.score + at)), log2e);
      const V weight = hn::Mul(share, divide), keep = hn::Set(d, tile.kept[r]);
      const std::int64_t key = (first + r) * wide + c;
      const V seen = hn::Mul(hn::Mul(grad, keep), hn::Load(d, x.values + key));
      V slope = hn::Mul(hn::Mul(weight, hn::Sub(seen, mean)), scale);
      if (p.softcap != 0) slope = hn::Mul(slope, hn::Load(d, tile.cap + at));
      hn::Store(slope, d, x.slopes + at);
      const V sum = hn::Load(d, x.value_sums + key);
      hn::Store(hn::MulAdd(hn::Mul(weight, keep), grad, sum), d, x.value_sums + key);
    }
  }
  // Back through Wd and the activation.
  const T* bends = tile.bend;
  T* own_query = x.query_sums + q * tile.width;
  T* keys = x.key_sums + first * tile.width;
  const std::int64_t pitch = tile.width;
  product(count, Broadcast<T>{x.slopes, wide, 1}, x.turned, pitch, p.value_width, pitch,
          [=](std::int64_t r, std::int64_t c, auto sum) HWY_ATTR {
            const std::int64_t at = r * pitch + c;
            const V g = hn::Mul(sum, hn::Load(d, bends + at));
            hn::Store(hn::Add(hn::Load(d, keys + at), g), d, keys + at);
            hn::Store(hn::Add(hn::Load(d, own_query + c), g), d, own_query + c);
          });
  T* sums = x.weight_sums;
  product(p.width, Broadcast<T>{tile.hidden, 1, tile.width}, x.slopes, wide, count, wide,
          [=](std::int64_t h, std::int64_t c, auto sum) HWY_ATTR {
            T* at = sums + h * wide + c;
            hn::Store(hn::Add(hn::Load(d, at), sum), d, at);
          });
}

/// Output gradient, output and softmax of one query.
template <class T>
void load_row(const MultiBackwardCall& call, const ScoreSetup<T>& setup, std::int64_t query,
              MultiBackwardScratch<T>& x) {
  const AttentionProblem& p = setup.p;
  const std::int64_t wide = x.tile.value_width;
  const auto copy = [&](const Input& from, T* to) {
    copy_rows(from.data, p.type, query_element(from.stride, setup.e, setup.head, query),
              from.stride[2], from.stride[3], 1, p.value_width, to, wide);
  };
  copy(call.inputs.grad_out, x.grads);
  copy(call.inputs.out, x.out);
  const T* state = static_cast<const T*>(call.inputs.state) +
                   2 * setup.e.query_row(p.heads, setup.head, query) * p.value_width;
  std::fill(x.top, x.top + wide, T{0});
  std::fill(x.divide, x.divide + wide, T{0});
  std::copy_n(state, p.value_width, x.top);
  std::copy_n(state + p.value_width, p.value_width, x.divide);
}

template <class T>
void multi_backward_chunk(const MultiBackwardCall& call, std::int64_t item,
                          MultiBackwardScratch<T>& x) {
  const AttentionProblem& p = call.problem;
  const KeyChunk& chunk = call.chunks[static_cast<std::size_t>(item)];
  const Entry& e = call.entries[static_cast<std::size_t>(chunk.entry)];
  const std::int64_t group = p.heads / p.kv_heads, end = chunk.key + chunk.count;
  MultiTile<T>& tile = x.tile;
  x.keys.load(p, p.key, key_element(p.key.stride, e, chunk.kv_head, chunk.key), chunk.count);
  copy_rows(p.value.data, p.type, key_element(p.value.stride, e, chunk.kv_head, chunk.key),
            p.value.stride[2], p.value.stride[3], chunk.count, p.value_width, x.values,
            tile.value_width);
  std::fill(x.key_sums, x.key_sums + kChunk * tile.width, T{0});
  std::fill(x.value_sums, x.value_sums + kChunk * tile.value_width, T{0});
  std::int64_t step = 0;
  for (std::int64_t head = chunk.kv_head * group; head < (chunk.kv_head + 1) * group; ++head) {
    const ScoreSetup<T> setup(p, e, head);
    tile.load_matrix(p, head);
    for (std::int64_t c = 0; c < p.value_width; ++c) {
      T* row = x.turned + c * tile.width;
      std::fill(row, row + tile.width, T{0});
      for (std::int64_t h = 0; h < p.width; ++h) row[h] = tile.matrix[h * tile.value_width + c];
    }
    std::fill(x.weight_sums, x.weight_sums + p.width * tile.value_width, T{0});
    for (std::int64_t query = 0; query < e.queries; query += kMultiBlock, ++step) {
      const std::int64_t queries = std::min(kMultiBlock, e.queries - query);
      std::fill(x.query_sums, x.query_sums + kMultiBlock * tile.width, T{0});
      x.queries.load(p, p.query, query_element(p.query.stride, e, head, query), queries);
      for (std::int64_t q = 0; q < queries; ++q) {
        load_row(call, setup, query + q, x);
        for (std::int64_t key = chunk.key; key < end; key += kMultiKeys) {
          const std::int64_t count = std::min(kMultiKeys, end - key), first = key - chunk.key;
          if (key >= e.end_key(query + q) || key + count <= e.begin_key(query + q)) continue;
          if (!fill_pairs(setup, query + q, key, count, tile)) continue;
          fill_hidden<true>(p, x.queries, q, x.keys, first, count, tile);
          fill_scores(p, count, tile);
          fill_kept(setup, query + q, key, count, tile);
          multi_gradients(setup, q, first, count, x);
        }
      }
      if (!chunk.first) call.turns.wait(item - 1, step);
      T* sums = static_cast<T*>(call.query_sums) + e.query_row(p.heads, head, query) * p.width;
      for (std::int64_t q = 0; q < queries; ++q) {
        for (std::int64_t c = 0; c < p.width; ++c) {
          T& sum = sums[q * p.width + c];
          sum = (chunk.first ? T{0} : sum) + x.query_sums[q * tile.width + c];
        }
        if (chunk.last && call.result.query.data != nullptr) {
          store_row(sums + q * p.width, p.width, call.result.query, p.type,
                    query_element(call.result.query.stride, e, head, query + q));
        }
      }
      call.turns.pass(item, step);
    }
    T* to =
        static_cast<T*>(call.weight_sums) + (item * group + head % group) * p.width * p.value_width;
    for (std::int64_t h = 0; h < p.width; ++h) {
      std::copy_n(x.weight_sums + h * tile.value_width, p.value_width, to + h * p.value_width);
    }
  }
  write_key_gradients(p, e, chunk, call.result.key, x.key_sums, tile.width, p.width, T{1});
  write_key_gradients(p, e, chunk, call.result.value, x.value_sums, tile.value_width, p.value_width,
                      T{1});
}

template <class T>
void multi_backward_worker(const MultiBackwardCall& call) {
  MultiBackwardScratch<T> scratch(call.problem);
  std::int64_t item;
  while (call.queue.next(item)) multi_backward_chunk(call, item, scratch);
}

void multi_backward_impl(const MultiBackwardCall& call) {
  if (call.problem.type == Type::float64) {
    multi_backward_worker<double>(call);
  } else {
    multi_backward_worker<float>(call);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(multi_backward_impl);

namespace {

template <class T>
void sum_matrices(const MultiBackwardCall& call) {
  const AttentionProblem& p = call.problem;
  const std::int64_t size = p.width * p.value_width, group = p.heads / p.kv_heads;
  auto* result = static_cast<T*>(call.result.weight);
  std::fill(result, result + p.heads * size, T{0});
  const auto* from = static_cast<const T*>(call.weight_sums);
  for (const KeyChunk& chunk : call.chunks) {
    for (std::int64_t head = chunk.kv_head * group; head < (chunk.kv_head + 1) * group; ++head) {
      for (std::int64_t i = 0; i < size; ++i) result[head * size + i] += *from++;
    }
  }
}

}  // namespace

void multi_backward(const AttentionProblem& problem, const MultiBackwardInputs& inputs,
                    const MultiBackward& result) {
  check_multi(problem);
  apply_simd_environment();
  const std::vector<Entry> entries = make_entries(problem);
  const std::vector<KeyChunk> chunks = make_key_chunks(problem, entries);
  const std::int64_t bytes = problem.type == Type::float64 ? 8 : 4;
  const auto room = [&](std::int64_t numbers) {
    return std::vector<std::byte>(static_cast<std::size_t>(numbers * bytes) + 1);
  };
  const auto count = static_cast<std::int64_t>(chunks.size());
  std::vector<std::byte> query_sums =
      room(problem.batch * problem.heads * problem.queries * problem.width);
  std::vector<std::byte> weight_sums =
      room(count * (problem.kv_heads > 0 ? problem.heads / problem.kv_heads : 0) * problem.width *
           problem.value_width);
  WorkQueue queue(count);
  Turns turns(chunks.size());
  const MultiBackwardCall call{
      problem, inputs, result, entries, chunks, query_sums.data(), weight_sums.data(),
      queue,   turns};
  const double work = product_work(problem, entries) * static_cast<double>(problem.width);
  run_workers(queue.count(), work, [&] { HWY_DYNAMIC_DISPATCH(multi_backward_impl)(call); });
  if (result.weight == nullptr) return;
  if (problem.type == Type::float64) {
    sum_matrices<double>(call);
  } else {
    sum_matrices<float>(call);
  }
}

}  // namespace heed::kernels
#endif
