// Attention backward: scores and weights are computed again from each row's maximum and sum (Dao et
// al. 2022), five products a tile. A chunk of keys is one unit of work, which owns its key and
// value gradients; query gradients are added chunk by chunk in order (Turns), so the bits do not
// depend on the threads.
#include <cstddef>
#include <vector>

#include "heed/kernels/attention.hpp"
#include "kernels/backward_call.hpp"
#include "kernels/check.hpp"
#include "kernels/geometry.hpp"
#include "kernels/scratch.hpp"
#include "kernels/simd_internal.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/context-inl.hpp"
#include "kernels/gradient-inl.hpp"
#include "kernels/key_gradients-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct BackwardScratch {
  explicit BackwardScratch(const AttentionProblem& p)
      : block(p),
        keys(memory.take(kChunk * p.width)),
        values(memory.take(kChunk * p.value_width)),
        key_sums(memory.take(kChunk * block.width)),
        value_sums(memory.take(kChunk * block.value_width)),
        query_sums(memory.take(kQueryBlock * p.width)),
        rows(memory.take(kQueryBlock * p.width)),
        row_sums(memory.take(kQueryBlock)),
        column_sums(memory.take(kChunk)),
        weight_sums(memory.take(block.width)),
        additive(p.score == Score::additive),
        key_rows(additive ? memory.take(kKeyBlock * block.width) : nullptr),
        key_powers(is_logistic(p) ? memory.take(kKeyBlock * block.width) : nullptr),
        hidden_sums(additive ? memory.take(kQueryBlock * block.width) : nullptr) {}

  Scratch<T> memory;
  GradientBlock<T> block;
  T* keys;
  T* values;
  T* key_sums;    // [kChunk][padded D]
  T* value_sums;  // [kChunk][padded V]
  T* query_sums;  // panels of [D][lanes]
  T* rows;
  T* row_sums;     // over the keys of the chunk, for each query of the block
  T* column_sums;  // over the queries, for each key of the chunk
  T* weight_sums;  // additive: [padded D] of one head
  bool additive;
  T* key_rows;     // additive: the keys of a tile, [kKeyBlock][padded D]
  T* key_powers;   // and their exponentials
  T* hidden_sums;  // additive: query sums in rows, [kQueryBlock][padded D]
  std::uint8_t bad_keys[kChunk];
  bool any_bad_keys, checked_keys;
};

/// Gradients of the scores of a tile, for additive scores.
template <class T>
void additive_block(const AttentionProblem& p, Rows<T> keys, std::int64_t count, std::int64_t begin,
                    std::int64_t end, T* key_sums, BackwardScratch<T>& x) {
  GradientBlock<T>& block = x.block;
  for (std::int64_t r = 0; r < count; ++r) {
    T* row = x.key_rows + r * block.width;
    std::copy_n(keys.at + r * keys.stride, p.width, row);
    std::fill(row + p.width, row + block.width, T{0});
  }
  const std::int64_t skip = begin * block.width;
  LogisticRows<T> rows{x.key_rows, x.key_powers, false};
  LogisticRows<T> queries{block.rows + skip, block.powers + skip, false};
  if (is_logistic(p)) {
    queries.safe = block.safe;
    rows.safe = logistic_exponentials(logistic_rate(p.activation), x.key_rows, count * block.width,
                                      x.key_powers);
  }
  additive_gradients(p.activation, queries, rows, end - begin, count, block.width,
                     block.slopes + begin, kQueryBlock,
                     AdditiveSums<T>{x.hidden_sums + skip, key_sums, x.weight_sums});
}

/// Keys `from` .. `from + count` of the chunk against the whole block of queries.
template <class T>
void backward_tile(const ScoreSetup<T>& setup, const KeyChunk& chunk, Rows<T> keys, Rows<T> values,
                   std::int64_t from, std::int64_t count, const BackwardCall& call,
                   BackwardScratch<T>& x) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const AttentionProblem& p = setup.p;
  GradientBlock<T>& block = x.block;
  const std::int64_t skip = from - chunk.key;
  const Rows<T> tile_keys{keys.at + skip * keys.stride, keys.stride};
  const Rows<T> tile_values{values.at + skip * values.stride, values.stride};
  bool guarded = false;
  std::int64_t begin = block.count, end = 0;  // lanes of the panels that take part
  for (std::int64_t i = 0; i < block.panel_count; ++i) {
    const Panel panel = block.panels[i];
    const std::int64_t lane = panel.query - block.query;
    with_vectors(panel.lanes / lanes, [&](auto vectors) HWY_ATTR {
      constexpr int NV = vectors.value;
      const Cover cover =
          gradient_tile<NV>(setup, panel, lane, tile_keys, tile_values, from, count, block);
      const bool sparse = cover != Cover::all || p.align != Align::soft;  // some slopes may be 0
      guarded |= sparse;
      if (cover == Cover::none) return;
      begin = std::min(begin, lane);
      end = std::max(end, lane + panel.count);
      if (x.additive) return;
      if (sparse && !x.checked_keys) {
        x.any_bad_keys = find_non_finite(keys, chunk.count, p.width, x.bad_keys);
        x.checked_keys = true;
      }
      hn::Vec<decltype(d)> keep[NV];
      for (int v = 0; v < NV; ++v) keep[v] = hn::Set(d, T{1});
      T* sums = x.query_sums + lane * p.width;
      if (sparse && x.any_bad_keys) {
        add_weighted_rows_guarded<NV, T>(block.slopes + lane, kQueryBlock, nullptr,
                                         x.bad_keys + skip, tile_keys, count, p.width, keep, sums,
                                         panel.lanes);
      } else {
        add_weighted_rows<NV>(block.slopes + lane, kQueryBlock, tile_keys, count, p.width, keep,
                              sums, panel.lanes);
      }
    });
  }
  if (begin >= end) return;
  const std::uint8_t* bad = guarded && block.has_bad_rows(p) ? block.bad : nullptr;
  add_tile_products(block.weights + begin, kQueryBlock, count,
                    block.grad_rows + begin * block.value_width, end - begin, block.value_width,
                    bad == nullptr ? nullptr : bad + begin,
                    x.value_sums + skip * block.value_width);
  if (x.additive) {
    additive_block(p, tile_keys, count, begin, end, x.key_sums + skip * block.width, x);
  } else {
    add_tile_products(block.slopes + begin, kQueryBlock, count, block.rows + begin * block.width,
                      end - begin, block.width, bad == nullptr ? nullptr : bad + begin,
                      x.key_sums + skip * block.width);
  }
  if (call.result.row_bias != nullptr) {
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t q = begin; q < end; ++q) x.row_sums[q] += block.slopes[r * kQueryBlock + q];
    }
  }
  if (call.result.column_bias != nullptr) {
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t q = begin; q < end; ++q) {
        x.column_sums[skip + r] += block.slopes[r * kQueryBlock + q];
      }
    }
  }
}

/// Adds this chunk's share to the gradients of one block of queries. The first chunk sets them, the
/// last one converts them where they were summed in a workspace.
template <class T>
void add_query_gradients(const ScoreSetup<T>& setup, const KeyChunk& chunk, std::int64_t query,
                         std::int64_t count, bool touched, const BackwardCall& call,
                         BackwardScratch<T>& x) {
  const AttentionProblem& p = setup.p;
  const Output& output = call.result.query;
  const T scale = setup.plain ? static_cast<T>(p.scale) : T{1};
  if (call.result.row_bias != nullptr) {
    T* sums = static_cast<T*>(call.result.row_bias) + setup.e.query_row(p.heads, setup.head, query);
    for (std::int64_t i = 0; i < count; ++i) {
      const T add = touched ? scale * x.row_sums[i] : T{0};
      sums[i] = chunk.first ? add : sums[i] + add;
    }
  }
  if (output.data == nullptr) return;
  if (touched && x.additive) {
    const T* w = setup.score_weight();
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t c = 0; c < p.width; ++c) {
        x.rows[i * p.width + c] = w[c] * x.hidden_sums[i * x.block.width + c];
      }
    }
  } else if (touched) {
    for (std::int64_t i = 0; i < x.block.panel_count; ++i) {
      const Panel panel = x.block.panels[i];
      const std::int64_t lane = panel.query - query;
      panel_to_rows(x.query_sums + lane * p.width, panel.count, p.width, panel.lanes,
                    x.rows + lane * p.width, p.width);
    }
  }
  const std::int64_t element = query_element(output.stride, setup.e, setup.head, query);
  T* to = call.query_sums == nullptr ? static_cast<T*>(output.data) + element
                                     : static_cast<T*>(call.query_sums) +
                                           setup.e.query_row(p.heads, setup.head, query) * p.width;
  const std::int64_t stride = call.query_sums == nullptr ? output.stride[2] : p.width;
  for (std::int64_t i = 0; i < count; ++i) {
    T* row = to + i * stride;
    const T* add = x.rows + i * p.width;
    if (chunk.first) std::fill(row, row + p.width, T{0});
    if (touched) {
      for (std::int64_t c = 0; c < p.width; ++c) row[c] += scale * add[c];
    }
    if (chunk.last && call.query_sums != nullptr) {
      store_row(row, p.width, output, p.type, element + i * output.stride[2]);
    }
  }
}

template <class T>
void backward_chunk(const BackwardCall& call, std::int64_t item, BackwardScratch<T>& x) {
  const AttentionProblem& p = call.problem;
  const KeyChunk& chunk = call.chunks[static_cast<std::size_t>(item)];
  const Entry& e = call.entries[static_cast<std::size_t>(chunk.entry)];
  const std::int64_t group = p.heads / p.kv_heads, end = chunk.key + chunk.count;
  const Rows<T> keys =
      view_rows(p.key, p.type, key_element(p.key.stride, e, chunk.kv_head, chunk.key), chunk.count,
                p.width, x.keys, p.width);
  const Rows<T> values =
      view_rows(p.value, p.type, key_element(p.value.stride, e, chunk.kv_head, chunk.key),
                chunk.count, p.value_width, x.values, p.value_width);
  std::fill(x.key_sums, x.key_sums + kChunk * x.block.width, T{0});
  std::fill(x.value_sums, x.value_sums + kChunk * x.block.value_width, T{0});
  x.checked_keys = false;

  const T scale = has_plain_scores(p) ? static_cast<T>(p.scale) : T{1};
  std::int64_t step = 0;
  for (std::int64_t head = chunk.kv_head * group; head < (chunk.kv_head + 1) * group; ++head) {
    const ScoreSetup<T> setup(p, e, head);
    std::fill(x.column_sums, x.column_sums + kChunk, T{0});
    std::fill(x.weight_sums, x.weight_sums + x.block.width, T{0});
    for (std::int64_t query = 0; query < e.queries; query += kQueryBlock, ++step) {
      const std::int64_t count = std::min(kQueryBlock, e.queries - query);
      const bool touched = e.begin_key(query) < end && e.end_key(query + count - 1) > chunk.key;
      if (touched) {
        x.block.load(setup, query, count, call.inputs);
        if (x.additive) {
          std::fill(x.hidden_sums, x.hidden_sums + kQueryBlock * x.block.width, T{0});
        } else {
          std::fill(x.query_sums, x.query_sums + kQueryBlock * p.width, T{0});
        }
        std::fill(x.row_sums, x.row_sums + kQueryBlock, T{0});
        for (std::int64_t from = chunk.key; from < end; from += kKeyBlock) {
          backward_tile(setup, chunk, keys, values, from, std::min(kKeyBlock, end - from), call, x);
        }
      }
      if (!chunk.first) call.turns.wait(item - 1, step);
      add_query_gradients(setup, chunk, query, count, touched, call, x);
      call.turns.pass(item, step);
    }
    if (call.result.column_bias != nullptr) {
      T* to = static_cast<T*>(call.result.column_bias) + e.key_row(p.heads, head, chunk.key);
      for (std::int64_t r = 0; r < chunk.count; ++r) to[r] = scale * x.column_sums[r];
      const std::int64_t all = e.ragged_keys ? p.key_offsets[e.index + 1] - e.first_key : p.keys;
      if (chunk.last) std::fill(to + chunk.count, to + (all - chunk.key), T{0});
    }
    if (call.weight_sums != nullptr) {
      T* to = static_cast<T*>(call.weight_sums) + (item * p.heads + head) * p.width;
      for (std::int64_t c = 0; c < p.width; ++c) to[c] = scale * x.weight_sums[c];
    }
  }
  if (x.additive) {  // heads of a group share w
    const T* w = ScoreSetup<T>(p, e, chunk.kv_head * group).score_weight();
    for (std::int64_t r = 0; r < chunk.count; ++r) {
      for (std::int64_t c = 0; c < p.width; ++c) x.key_sums[r * x.block.width + c] *= w[c];
    }
  }
  write_key_gradients(p, e, chunk, call.result.key, x.key_sums, x.block.width, p.width, scale);
  write_key_gradients(p, e, chunk, call.result.value, x.value_sums, x.block.value_width,
                      p.value_width, T{1});
}

template <class T>
void backward_worker(const BackwardCall& call) {
  BackwardScratch<T> scratch(call.problem);
  std::int64_t item;
  while (call.queue.next(item)) backward_chunk(call, item, scratch);
}

/// The gradient of w: what the chunks gathered, in their order.
template <class T>
void sum_weight_gradients(const BackwardCall& call) {
  const AttentionProblem& p = call.problem;
  for (std::int64_t i = 0; i < p.heads * p.width; ++i) {
    double sum = 0;
    for (std::size_t chunk = 0; chunk < call.chunks.size(); ++chunk) {
      const std::int64_t group = p.heads / p.kv_heads;
      if (call.chunks[chunk].kv_head != i / p.width / group) continue;
      sum += static_cast<double>(static_cast<const T*>(
          call.weight_sums)[static_cast<std::int64_t>(chunk) * p.heads * p.width + i]);
    }
    static_cast<T*>(call.result.weight)[i] = static_cast<T>(sum);
  }
}

void weight_gradients(const BackwardCall& call) {
  if (call.problem.type == Type::float64) {
    sum_weight_gradients<double>(call);
  } else {
    sum_weight_gradients<float>(call);
  }
}

void backward_impl(const BackwardCall& call) {
  if (call.problem.type == Type::float64) {
    backward_worker<double>(call);
  } else {
    backward_worker<float>(call);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(backward_impl);
HWY_EXPORT(weight_gradients);

void attention_backward(const AttentionProblem& problem, const BackwardInputs& inputs,
                        const BackwardResult& result) {
  check_problem(problem);
  apply_simd_environment();
  const std::vector<Entry> entries = make_entries(problem);
  const std::vector<KeyChunk> chunks = make_key_chunks(problem, entries);
  const bool direct = result.query.stride[3] == 1 &&
                      (problem.type == Type::float32 || problem.type == Type::float64);
  const std::int64_t bytes = problem.type == Type::float64 ? 8 : 4;
  std::vector<std::byte> query_sums;
  if (result.query.data != nullptr && !direct) {
    std::int64_t rows = 0;
    for (const Entry& e : entries) {
      rows = std::max(rows, e.query_row(problem.heads, problem.heads - 1, e.queries));
    }
    query_sums.resize(static_cast<std::size_t>(rows * problem.width * bytes) + 1);
  }
  std::vector<std::byte> weight_sums;
  if (result.weight != nullptr) {
    const std::int64_t size = problem.heads * problem.width * bytes;
    weight_sums.resize(chunks.size() * static_cast<std::size_t>(size) + 1);
  }
  WorkQueue queue(static_cast<std::int64_t>(chunks.size()));
  Turns turns(chunks.size());
  const BackwardCall call{problem,
                          inputs,
                          result,
                          entries,
                          chunks,
                          query_sums.empty() ? nullptr : query_sums.data(),
                          weight_sums.empty() ? nullptr : weight_sums.data(),
                          queue,
                          turns};
  run_workers(queue.count(), 2.5 * product_work(problem, entries), [&] {
    HWY_DYNAMIC_DISPATCH(backward_impl)(call);
  });
  if (result.weight != nullptr) HWY_DYNAMIC_DISPATCH(weight_gradients)(call);
  if (result.bias.data != nullptr) bias_gradient(problem, inputs, result.bias, entries);
  row_gradients(problem, inputs, result, entries);
}

}  // namespace heed::kernels
#endif
