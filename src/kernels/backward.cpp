// Attention backward: scores and weights are computed again from each row's maximum and sum (Dao et
// al. 2022), five products a tile. A chunk of keys is one unit of work, which owns its key and
// value gradients; query gradients are added chunk by chunk in order (Turns), so the bits do not
// depend on the threads.
#include <cstddef>
#include <optional>
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

/// What one thread needs. E: elements of the products.
template <class T, class E>
struct BackwardScratch {
  explicit BackwardScratch(const AttentionProblem& p)
      : block(p),
        keys(operands.take(kChunk * elements<E>(p.width))),
        values(operands.take(kChunk * elements<E>(p.value_width))),
        key_pairs(block.take_pairs(kChunk * p.width)),
        turned_slopes(block.take_pairs(kKeyBlock * kQueryBlock)),
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

  Scratch<E> operands;
  Scratch<T> memory;
  GradientBlock<T, E> block;
  E* keys;
  E* values;
  E* key_pairs;      // pairs only: two keys of the chunk an element, [kChunk / 2][D]
  E* turned_slopes;  // pairs only: two keys an element, [kKeyBlock / 2][lanes]
  T* key_sums;       // [kChunk][padded D]
  T* value_sums;     // [kChunk][padded V]
  T* query_sums;     // panels of [D][lanes]
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
                    std::int64_t end, T* key_sums, BackwardScratch<T, T>& x) {
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

/// A chunk's keys and values as the products take them.
template <class E>
struct ChunkRows {
  Rows<E> keys, values;
  Rows<E> skip(std::int64_t rows, Rows<E> from) const {
    return {from.at + rows * from.stride, from.stride};
  }
};

/// Adds the slopes of a panel's tile, times the keys, to the query sums: `skip` keys of the chunk
/// are before them.
template <int NV, class T, class E>
void add_query_sums(const AttentionProblem& p, Panel panel, std::int64_t lane,
                    const KeyChunk& chunk, Rows<E> keys, std::int64_t skip, std::int64_t count,
                    bool sparse, BackwardScratch<T, E>& x) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> keep[NV];
  for (int v = 0; v < NV; ++v) keep[v] = hn::Set(d, T{1});
  T* sums = x.query_sums + lane * p.width;
  const T* slopes = x.block.slopes + lane;
  if constexpr (!std::is_same_v<E, T>) {
    if constexpr (kHasPairs) {
      pair_weights(slopes, kQueryBlock, count, panel.lanes, x.turned_slopes);
      add_weighted_rows<NV>(static_cast<const E*>(x.turned_slopes), panel.lanes,
                            Rows<E>{x.key_pairs + skip / 2 * p.width, p.width}, elements<E>(count),
                            p.width, keep, sums, panel.lanes);
    }
  } else {
    if (sparse && !x.checked_keys) {
      x.any_bad_keys = find_non_finite(keys, chunk.count, p.width, x.bad_keys);
      x.checked_keys = true;
    }
    const Rows<T> tile_keys{keys.at + skip * keys.stride, keys.stride};
    if (sparse && x.any_bad_keys) {
      add_weighted_rows_guarded<NV, T>(slopes, kQueryBlock, nullptr, x.bad_keys + skip, tile_keys,
                                       count, p.width, keep, sums, panel.lanes);
    } else {
      add_weighted_rows<NV>(slopes, kQueryBlock, tile_keys, count, p.width, keep, sums,
                            panel.lanes);
    }
  }
}

/// Adds what the tile gives to the key and value sums, from queries `begin` .. `end`. Where
/// `sparse`, some weights may be 0, and must not meet what is not finite.
template <class T, class E>
void add_key_sums(const AttentionProblem& p, Rows<E> tile_keys, std::int64_t skip,
                  std::int64_t count, std::int64_t begin, std::int64_t end, bool sparse,
                  BackwardScratch<T, E>& x) {
  GradientBlock<T, E>& block = x.block;
  T* value_sums = x.value_sums + skip * block.value_width;
  T* key_sums = x.key_sums + skip * block.width;
  if constexpr (!std::is_same_v<E, T>) {
    const std::int64_t queries = elements<E>(end);  // one panel, which begins at 0
    block.round_tile(count);
    add_tile_products<E>(block.weight_pairs, kQueryBlock / 2, count, block.grad_pairs, queries,
                         block.value_width, nullptr, value_sums);
    add_tile_products<E>(block.slope_pairs, kQueryBlock / 2, count, block.row_pairs, queries,
                         block.width, nullptr, key_sums);
  } else {
    const std::uint8_t* bad = sparse && block.has_bad_rows(p) ? block.bad + begin : nullptr;
    add_tile_products<E>(block.weights + begin, kQueryBlock, count,
                         block.grad_rows + begin * block.value_width, end - begin,
                         block.value_width, bad, value_sums);
    if (x.additive) return additive_block(p, tile_keys, count, begin, end, key_sums, x);
    add_tile_products<E>(block.slopes + begin, kQueryBlock, count, block.rows + begin * block.width,
                         end - begin, block.width, bad, key_sums);
  }
}

/// Keys `from` .. `from + count` of the chunk against the whole block of queries.
template <class T, class E>
void backward_tile(const ScoreSetup<T>& setup, const KeyChunk& chunk, const ChunkRows<E>& rows,
                   std::int64_t from, std::int64_t count, const BackwardCall& call,
                   BackwardScratch<T, E>& x) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const AttentionProblem& p = setup.p;
  GradientBlock<T, E>& block = x.block;
  const std::int64_t skip = from - chunk.key;
  const Rows<E> tile_keys = rows.skip(skip, rows.keys), tile_values = rows.skip(skip, rows.values);
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
      add_query_sums<NV>(p, panel, lane, chunk, rows.keys, skip, count, sparse, x);
    });
  }
  if (begin >= end) return;
  add_key_sums(p, tile_keys, skip, count, begin, end, guarded, x);
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
template <class T, class E>
void add_query_gradients(const ScoreSetup<T>& setup, const KeyChunk& chunk, std::int64_t query,
                         std::int64_t count, bool touched, const BackwardCall& call,
                         BackwardScratch<T, E>& x) {
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

/// The keys and values of a chunk, where they lie or in `x`.
template <class T, class E>
ChunkRows<E> load_chunk(const AttentionProblem& p, const Entry& e, const KeyChunk& chunk,
                        BackwardScratch<T, E>& x) {
  const std::int64_t key = key_element(p.key.stride, e, chunk.kv_head, chunk.key);
  const std::int64_t value = key_element(p.value.stride, e, chunk.kv_head, chunk.key);
  ChunkRows<E> rows{};
  if constexpr (std::is_same_v<E, T>) {
    rows.keys = view_rows(p.key, p.type, key, chunk.count, p.width, x.keys, p.width);
    rows.values =
        view_rows(p.value, p.type, value, chunk.count, p.value_width, x.values, p.value_width);
  } else if constexpr (kHasPairs) {
    rows.keys = view_pairs(p.key, key, chunk.count, p.width, x.keys);
    rows.values = view_pairs(p.value, value, chunk.count, p.value_width, x.values);
    pair_rows(hn::ScalableTag<std::uint32_t>(), p.key, key, chunk.count, p.width, x.key_pairs);
  }
  return rows;
}

template <class T, class E>
void backward_chunk(const BackwardCall& call, std::int64_t item, BackwardScratch<T, E>& x) {
  const AttentionProblem& p = call.problem;
  const KeyChunk& chunk = call.chunks[static_cast<std::size_t>(item)];
  const Entry& e = call.entries[static_cast<std::size_t>(chunk.entry)];
  const std::int64_t group = p.heads / p.kv_heads, end = chunk.key + chunk.count;
  const ChunkRows<E> rows = load_chunk(p, e, chunk, x);
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
          backward_tile(setup, chunk, rows, from, std::min(kKeyBlock, end - from), call, x);
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
  std::optional<BackwardScratch<T, T>> numbers;
  std::optional<BackwardScratch<float, Pair>> pairs;
  [[maybe_unused]] const TileSession tiles(call.problem.type == Type::bfloat16);
  std::int64_t item;
  while (call.queue.next(item)) {
    const std::int64_t entry = call.chunks[static_cast<std::size_t>(item)].entry;
    if constexpr (kHasPairs && sizeof(T) == 4) {
      if (call.pairs[static_cast<std::size_t>(entry)]) {
        if (!pairs) pairs.emplace(call.problem);
        backward_chunk(call, item, *pairs);
        continue;
      }
    }
    if (!numbers) numbers.emplace(call.problem);
    backward_chunk(call, item, *numbers);
  }
}

/// Whether all that an entry's products read is finite: then nothing has to be guarded.
inline bool is_finite(const AttentionProblem& p, const Input& grad_out, const Entry& e) {
  bool finite = true;
  for (std::int64_t head = 0; head < p.heads && finite; ++head) {
    finite =
        all_finite(p.query, query_element(p.query.stride, e, head, 0), e.queries, p.width) &&
        all_finite(grad_out, query_element(grad_out.stride, e, head, 0), e.queries, p.value_width);
  }
  for (std::int64_t head = 0; head < p.kv_heads && finite; ++head) {
    finite = all_finite(p.key, key_element(p.key.stride, e, head, 0), e.keys, p.width) &&
             all_finite(p.value, key_element(p.value.stride, e, head, 0), e.keys, p.value_width);
  }
  return finite;
}

/// Sets by entry whether its products take bfloat16 as it is.
void choose_pairs(const AttentionProblem& p, const Input& grad_out,
                  const std::vector<Entry>& entries, std::vector<std::uint8_t>& pairs) {
  for (const Entry& e : entries) {
    pairs[static_cast<std::size_t>(e.index)] = kHasPairs && is_finite(p, grad_out, e);
  }
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
HWY_EXPORT(choose_pairs);

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
  std::vector<std::uint8_t> pairs(entries.size(), 0);
  if (problem.type == Type::bfloat16 && problem.score == Score::dot &&
      problem.align == Align::soft && pair_products()) {
    HWY_DYNAMIC_DISPATCH(choose_pairs)(problem, inputs.grad_out, entries, pairs);
  }
  WorkQueue queue(static_cast<std::int64_t>(chunks.size()));
  Turns turns(chunks.size());
  const BackwardCall call{problem,
                          inputs,
                          result,
                          entries,
                          chunks,
                          pairs,
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
