// What the weights say without the matrix: entropy of each row, mass that each key receives; and
// the matrix, or some rows of it, when asked. A pass of its own, so asking never changes the
// output.
#include <algorithm>
#include <vector>

#include "heed/kernels/attention.hpp"
#include "kernels/check.hpp"
#include "kernels/geometry.hpp"
#include "kernels/parallel.hpp"
#include "kernels/scratch.hpp"
#include "kernels/simd_internal.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/weights.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/align-inl.hpp"
#include "kernels/exp-inl.hpp"
#include "kernels/scores-inl.hpp"

#ifndef HEED_KERNELS_WEIGHTS_ONCE
#define HEED_KERNELS_WEIGHTS_ONCE
namespace heed::kernels {

/// Queries `query` .. `query + count` against keys `key` .. `key + keys`; results go to row `row`.
struct WeightsItem {
  std::int64_t entry, head, query, count, key, keys, row;
};

enum class Wanted { entropy, received, weights, scores };

struct WeightsCall {
  const AttentionProblem& problem;
  const void* state;
  const WeightsResult& result;
  const std::vector<Entry>& entries;
  const std::vector<WeightsItem>& items;
  Wanted wanted;
  WorkQueue& queue;
};

}  // namespace heed::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct WeightsScratch {
  explicit WeightsScratch(const AttentionProblem& p)
      : queries(memory.take(kQueryBlock * panel_width(p))),
        rows(memory.take(kQueryBlock * std::max(p.width, kKeyBlock))),
        keys(memory.take(kKeyBlock * p.width)),
        lanes(memory),
        sums(memory.take(kQueryBlock)),
        received(memory.take(kKeyBlock * kQueryBlock)),
        tile{memory.take(kKeyBlock * kQueryBlock), memory.take(kKeyBlock * kQueryBlock),
             memory.take(kKeyBlock * kQueryBlock), nullptr,
             memory.take(kKeyBlock * kQueryBlock), take_powers(p, memory)} {}

  Scratch<T> memory;
  T* queries;
  T* rows;
  T* keys;
  RowLanes<T> lanes;
  T* sums;      // running entropy of each lane
  T* received;  // [kKeyBlock][lanes of one vector]
  ScoreTile<T> tile;
};

/// Turns the scores of the tile into weights, of a softmax.
template <int NV, class T>
void soft_tile(const ScoreSetup<T>& setup, std::int64_t count, WeightsScratch<T>& x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V factor = hn::Set(d, setup.factor());
  for (int v = 0; v < NV; ++v) {
    const V top = hn::Load(d, x.lanes.top + v * lanes);
    const V divide = hn::Load(d, x.lanes.divide + v * lanes);
    for (std::int64_t r = 0; r < count; ++r) {
      T* at = x.tile.score + (r * NV + v) * lanes;
      const V p = exp2_drop(d, hn::Sub(top, hn::Load(d, at)), factor);
      hn::Store(hn::Mul(p, divide), d, at);
    }
  }
}

/// Adds the weights of the tile to the entropies or to the received mass.
template <int NV, class T>
void reduce_tile(std::int64_t count, Wanted wanted, WeightsScratch<T>& x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V one = hn::Set(d, T{1});
  for (int v = 0; v < NV; ++v) {
    V entropy = hn::Load(d, x.sums + v * lanes);
    for (std::int64_t r = 0; r < count; ++r) {
      const V p = hn::Load(d, x.tile.score + (r * NV + v) * lanes);
      if (wanted == Wanted::entropy) {
        const V log = hn::Log(d, hn::IfThenElse(hn::Gt(p, hn::Zero(d)), p, one));
        entropy = hn::NegMulAdd(p, log, entropy);
      } else {
        T* sum = x.received + r * lanes;
        hn::Store(hn::Add(hn::Load(d, sum), p), d, sum);
      }
    }
    hn::Store(entropy, d, x.sums + v * lanes);
  }
}

/// Writes the tile as rows of weights or scores, zeros where nothing was computed.
template <class T>
void write_tile(const WeightsCall& call, const Entry& e, const WeightsItem& item, Panel panel,
                std::int64_t key, std::int64_t count, bool computed, T scale,
                WeightsScratch<T>& x) {
  const Output& to = call.wanted == Wanted::scores ? call.result.scores : call.result.weights;
  if (computed) panel_to_rows(x.tile.score, panel.count, count, panel.lanes, x.rows, count);
  for (std::int64_t i = 0; i < panel.count; ++i) {
    T* row = static_cast<T*>(to.data) +
             pair_element(to.stride, e, item.head, item.row + panel.query - item.query + i, key);
    for (std::int64_t c = 0; c < count; ++c) {
      row[c * to.stride[3]] = computed ? x.rows[i * count + c] * scale : T{0};
    }
  }
}

template <class T>
void weights_item(const WeightsCall& call, const WeightsItem& item, WeightsScratch<T>& x) {
  const AttentionProblem& p = call.problem;
  const Entry& e = call.entries[static_cast<std::size_t>(item.entry)];
  const ScoreSetup<T> setup(p, e, item.head);
  const std::int64_t kv_head = item.head / (p.heads / p.kv_heads);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const bool matrix = call.wanted == Wanted::weights || call.wanted == Wanted::scores;
  std::fill(x.received, x.received + kKeyBlock * lanes, T{0});
  for (std::int64_t q = 0; q < item.count;) {
    const Panel panel = next_panel(item.query + q, item.count - q, lanes);
    const Rows<T> queries =
        view_rows(p.query, p.type, query_element(p.query.stride, e, item.head, panel.query),
                  panel.count, p.width, x.rows, p.width);
    load_panel(p, queries, panel, x.queries);
    x.lanes.clear();
    std::fill(x.sums, x.sums + kQueryBlock, T{0});
    for (std::int64_t i = 0; i < panel.count && call.state != nullptr; ++i) {
      x.lanes.load(i, call.state, e.query_row(p.heads, item.head, panel.query + i));
    }
    const std::int64_t begin = e.begin_key(panel.query);
    const std::int64_t end = e.end_key(panel.query + panel.count - 1);
    for (std::int64_t key = item.key; key < item.key + item.keys; key += kKeyBlock) {
      const std::int64_t block = std::min(kKeyBlock, item.key + item.keys - key);
      const std::int64_t count = std::min(block, e.keys - key);  // what there is behind it
      Cover cover = Cover::none;
      if (begin < key + count && end > key) {
        const Rows<T> keys = view_rows(p.key, p.type, key_element(p.key.stride, e, kv_head, key),
                                       count, p.width, x.keys, p.width);
        with_vectors(panel.lanes / lanes, [&](auto vectors) HWY_ATTR {
          hn::Vec<hn::ScalableTag<T>> top[vectors.value];
          cover = score_tile<vectors.value>(setup, panel, x.queries, keys, key, count, x.tile, top);
          if (cover == Cover::none || call.wanted == Wanted::scores) return;
          if (p.align == Align::soft) {
            soft_tile<vectors.value>(setup, count, x);
          } else {
            weigh_tile<vectors.value>(AlignSetup<T>(p, item.head), x.tile.score, key, count,
                                      x.lanes, 0, x.tile.score, panel.lanes, x.tile.extra);
          }
          if (!matrix) reduce_tile<vectors.value>(count, call.wanted, x);
        });
      }
      if (!matrix) continue;
      const bool scores = call.wanted == Wanted::scores;
      const T scale = scores && setup.plain ? static_cast<T>(p.scale) : T{1};
      if (cover != Cover::none) write_tile(call, e, item, panel, key, count, true, scale, x);
      const std::int64_t done = cover != Cover::none ? count : 0;
      if (done < block) write_tile(call, e, item, panel, key + done, block - done, false, scale, x);
    }
    if (call.wanted == Wanted::entropy) {
      for (std::int64_t i = 0; i < panel.count; ++i) {
        call.result.entropy[e.query_row(p.heads, item.head, panel.query + i)] =
            static_cast<float>(x.sums[i]);
      }
    }
    q += panel.lanes;
  }
  if (call.wanted == Wanted::received) {
    for (std::int64_t r = 0; r < item.keys; ++r) {
      T sum = 0;
      for (std::int64_t i = 0; i < lanes; ++i) sum += x.received[r * lanes + i];
      call.result.received[e.key_row(p.heads, item.head, item.key + r)] = static_cast<float>(sum);
    }
  }
}

template <class T>
void weights_worker(const WeightsCall& call) {
  WeightsScratch<T> scratch(call.problem);
  std::int64_t item;
  while (call.queue.next(item)) {
    weights_item(call, call.items[static_cast<std::size_t>(item)], scratch);
  }
}

void weights_impl(const WeightsCall& call) {
  if (call.problem.type == Type::float64) {
    weights_worker<double>(call);
  } else {
    weights_worker<float>(call);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(weights_impl);

namespace {

constexpr std::int64_t kReceivedKeys = 96;  // one tile, so that the sums stay in it

void run_pass(const AttentionProblem& p, const void* state, const WeightsResult& result,
              const std::vector<Entry>& entries, Wanted wanted) {
  std::vector<WeightsItem> items;
  const bool matrix = wanted == Wanted::weights || wanted == Wanted::scores;
  for (const Entry& e : entries) {
    const std::int64_t keys = e.ragged_keys ? p.key_offsets[e.index + 1] - e.first_key : p.keys;
    for (std::int64_t h = 0; h < p.heads; ++h) {
      if (wanted == Wanted::received) {
        for (std::int64_t k = 0; k < keys; k += kReceivedKeys) {
          items.push_back({e.index, h, 0, e.queries, k, std::min(kReceivedKeys, keys - k), 0});
        }
      } else if (matrix && result.rows != nullptr) {
        for (std::int64_t i = 0; i < result.row_count; ++i) {
          items.push_back({e.index, h, result.rows[i], 1, 0, keys, i});
        }
      } else {
        for (std::int64_t q = 0; q < e.queries; q += kQueryBlock) {
          items.push_back({e.index, h, q, std::min(kQueryBlock, e.queries - q), 0, keys, q});
        }
      }
    }
  }
  WorkQueue queue(static_cast<std::int64_t>(items.size()));
  const WeightsCall call{p, state, result, entries, items, wanted, queue};
  run_workers(queue.count(), product_work(p, entries), [&] {
    HWY_DYNAMIC_DISPATCH(weights_impl)(call);
  });
}

}  // namespace

void attention_weights(const AttentionProblem& problem, const void* state,
                       const WeightsResult& result) {
  check_problem(problem);
  check_rows(problem, result);
  apply_simd_environment();
  const std::vector<Entry> entries = make_entries(problem);
  if (result.entropy != nullptr) run_pass(problem, state, result, entries, Wanted::entropy);
  if (result.received != nullptr) run_pass(problem, state, result, entries, Wanted::received);
  if (result.weights.data != nullptr) run_pass(problem, state, result, entries, Wanted::weights);
  if (result.scores.data != nullptr) {
    // Scores are those before the masks, but keep the diagonal that the masks were counted from.
    AttentionProblem open = problem;
    open.mask = {};
    std::vector<Entry> whole = entries;
    for (Entry& e : whole) {
      e.left = e.right = std::int64_t{1} << 61;
      e.keys = e.ragged_keys ? problem.key_offsets[e.index + 1] - e.first_key : problem.keys;
    }
    run_pass(open, nullptr, result, whole, Wanted::scores);
  }
}

}  // namespace heed::kernels
#endif
