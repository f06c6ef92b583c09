// Forward for alignments that need the whole row: the scores of a few queries against all their
// keys are kept (memory grows with the keys, not with their square), the rows are solved, and only
// keys that got weight are multiplied with their values.
#include "kernels/rows.hpp"

#include <vector>

#include "heed/kernels/random.hpp"
#include "kernels/parallel.hpp"
#include "kernels/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/context-inl.hpp"
#include "kernels/dropout-inl.hpp"
#include "kernels/row_state-inl.hpp"

#ifndef HEED_KERNELS_ROWS_ONCE
#define HEED_KERNELS_ROWS_ONCE
namespace heed::kernels {

struct RowsCall {
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

inline bool has_drift(const AttentionProblem& p) {
  return p.align == Align::entmax || p.align == Align::local_p;
}

/// A sum of value rows under weights, a panel of [V][lanes], and the weights of the rows that wait.
template <class T>
struct Gathered {
  Gathered(const AttentionProblem& p, bool is_wanted, Scratch<T>& memory)
      : wanted(is_wanted),
        sums(wanted ? memory.take(kQueryBlock * p.value_width) : nullptr),
        weights(wanted ? memory.take(kKeyBlock * kQueryBlock) : nullptr) {}

  bool wanted;
  T* sums;
  T* weights;  // [rows][lanes]
};

template <class T>
struct RowsScratch {
  RowsScratch(const AttentionProblem& p, const ForwardResult& result)
      : lanes(memory),
        queries(memory.take(kQueryBlock * panel_width(p))),
        strip(memory.take((p.keys + 1) * kVectors * lanes_of())),
        candidates(memory.take((p.keys + 1) * lanes_of())),
        rows(memory.take(kQueryBlock * std::max(p.width, p.value_width))),
        keys(memory.take(kKeyBlock * p.width)),
        values(memory.take(kKeyBlock * p.value_width)),
        chosen(memory.take(kKeyBlock * p.value_width)),
        weights(memory.take(kKeyBlock * kQueryBlock)),
        gains(memory.take(kKeyBlock * kQueryBlock)),
        dropped(p.dropout > 0 ? memory.take(kKeyBlock * kQueryBlock) : nullptr),
        uniform(memory.take(kQueryBlock)),
        out(p, result.out.data != nullptr, memory),
        mean(p, result.mean.data != nullptr, memory),
        drift(p, result.drift.data != nullptr && has_drift(p), memory),
        tile{nullptr, memory.take(kKeyBlock * kQueryBlock), memory.take(kKeyBlock * kQueryBlock),
             nullptr, memory.take(kKeyBlock * kQueryBlock), take_powers(p, memory)} {}

  static std::int64_t lanes_of() {
    return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  }

  Scratch<T> memory;
  RowLanes<T> lanes;
  T* queries;
  T* strip;       // scores of the panel, [keys][lanes]
  T* candidates;  // scratch of the solver
  T* rows;
  T* keys;
  T* values;
  T* chosen;  // value rows that got weight
  T* weights;
  T* gains;
  T* dropped;
  T* uniform;
  Gathered<T> out, mean, drift;
  ScoreTile<T> tile;
  std::uint8_t bad[kKeyBlock];
  std::int64_t waiting = 0;  // rows in `chosen`
};

/// The keys that a panel may see at all.
template <class T>
std::pair<std::int64_t, std::int64_t> key_range(const ScoreSetup<T>& setup, Panel panel,
                                                const RowLanes<T>& lanes) {
  const Entry& e = setup.e;
  std::int64_t begin = e.begin_key(panel.query), end = e.end_key(panel.query + panel.count - 1);
  if (setup.p.align == Align::local_p) {
    double low = lanes.mark[0], high = low;
    for (std::int64_t i = 1; i < panel.count; ++i) {
      low = std::min<double>(low, lanes.mark[i]);
      high = std::max<double>(high, lanes.mark[i]);
    }
    const auto whole = [&](double x) {  // a center that is no number reaches no key
      return static_cast<std::int64_t>(std::clamp(x == x ? x : 0, 0.0, 1e15));
    };
    begin = std::max(begin, whole(std::floor(low - setup.p.reach)));
    end = std::min(end, whole(std::ceil(high + setup.p.reach)) + 1);
  }
  return {begin, std::max(begin, end)};
}

/// Scores of the panel against keys `begin` .. `end`, and the largest of each lane.
template <int NV, class T>
void fill_strip(const ScoreSetup<T>& setup, Panel panel, std::int64_t begin, std::int64_t end,
                RowsScratch<T>& x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const AttentionProblem& p = setup.p;
  const std::int64_t kv_head = setup.head / (p.heads / p.kv_heads), wide = NV * lanes;
  const V lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  V top[NV], highest[NV];
  for (int v = 0; v < NV; ++v) highest[v] = lowest;
  for (std::int64_t key = begin; key < end; key += kKeyBlock) {
    const std::int64_t count = std::min(kKeyBlock, end - key);
    const Rows<T> keys = view_rows(p.key, p.type, key_element(p.key.stride, setup.e, kv_head, key),
                                   count, p.width, x.keys, p.width);
    ScoreTile<T> tile = x.tile;
    tile.score = x.strip + (key - begin) * wide;
    const Cover cover = score_tile<NV>(setup, panel, x.queries, keys, key, count, tile, top);
    if (cover == Cover::none) {
      std::fill(tile.score, tile.score + count * wide, -std::numeric_limits<T>::infinity());
    } else {
      for (int v = 0; v < NV; ++v) highest[v] = hn::Max(highest[v], top[v]);
    }
  }
  for (int v = 0; v < NV; ++v) {
    const V top_or_zero = hn::IfThenZeroElse(hn::Eq(highest[v], lowest), highest[v]);
    hn::Store(top_or_zero, d, x.lanes.top + v * lanes);
  }
}

/// One uniform number of [0, 1) for each row, from a counter that dropout never uses.
template <class T>
void draw_uniform(const ScoreSetup<T>& setup, Panel panel, T* uniform) {
  std::fill(uniform, uniform + kQueryBlock, T{0});
  for (std::int64_t i = 0; i < panel.count; ++i) {
    uniform[i] =
        static_cast<T>(row_uniform(setup.p.seed, setup.e.index, setup.head, panel.query + i));
  }
}

template <int NV, class T>
void solve_rows(const ScoreSetup<T>& setup, const AlignSetup<T>& align, Panel panel,
                std::int64_t begin, std::int64_t end, RowsScratch<T>& x) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (setup.p.sample) draw_uniform(setup, panel, x.uniform);
  for (int v = 0; v < NV; ++v) {
    const std::int64_t lane = v * lanes;
    const Strip<T> strip{x.strip + lane, NV * lanes, begin, end - begin};
    RowVectors<T> rows{hn::Load(d, x.lanes.top + lane), hn::Set(d, T{1}),
                       hn::Load(d, x.lanes.mark + lane), hn::Zero(d)};
    with_align(align.kind, [&](auto kind) HWY_ATTR {
      constexpr Align k = kind.value;
      if constexpr (k == Align::sparsemax || k == Align::entmax15 || k == Align::entmax) {
        solve_threshold<k>(align, strip, x.candidates, rows);
      } else if constexpr (k == Align::top_k) {
        solve_top_k(align, strip, setup.p.top, rows);
      } else if constexpr (k == Align::hard) {
        solve_hard(align, strip, setup.p.sample ? x.uniform + lane : nullptr, rows);
      } else if constexpr (k == Align::local_p) {
        solve_local(align, strip, rows);
      }
    });
    hn::Store(rows.top, d, x.lanes.top + lane);
    hn::Store(rows.divide, d, x.lanes.divide + lane);
    hn::Store(rows.mark, d, x.lanes.mark + lane);
    hn::Store(rows.limit, d, x.lanes.limit + lane);
  }
}

/// Multiplies the value rows that wait with their weights.
template <int NV, class T>
void flush(const AttentionProblem& p, RowsScratch<T>& x) {
  const hn::ScalableTag<T> d;
  const std::int64_t wide = NV * static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> keep[NV];
  for (int v = 0; v < NV; ++v) keep[v] = hn::Set(d, T{1});
  const Rows<T> values{x.chosen, p.value_width};
  const bool bad = find_non_finite(values, x.waiting, p.value_width, x.bad);
  for (Gathered<T>* to : {&x.out, &x.mean, &x.drift}) {
    if (!to->wanted) continue;
    if (bad) {
      add_weighted_rows_guarded<NV, T>(to->weights, wide, nullptr, x.bad, values, x.waiting,
                                       p.value_width, keep, to->sums, wide);
    } else {
      add_weighted_rows<NV>(to->weights, wide, values, x.waiting, p.value_width, keep, to->sums,
                            wide);
    }
  }
  x.waiting = 0;
}

/// The terms of `drift`: for entmax p / (alpha - 1)² - p ln p / (alpha - 1), whose sum over the
/// keys `limit` gets; for local_p the weight times (key - center) / σ².
template <int NV, class T>
void drift_terms(const AlignSetup<T>& align, std::int64_t key, std::int64_t count, const T* weights,
                 T* terms, RowsScratch<T>& x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V one = hn::Set(d, T{1}), zero = hn::Zero(d);
  for (std::int64_t r = 0; r < count; ++r) {
    for (int v = 0; v < NV; ++v) {
      const std::int64_t at = (r * NV + v) * lanes;
      const V w = hn::Load(d, weights + at);
      if (align.kind == Align::local_p) {
        const V offset =
            hn::Sub(hn::Set(d, static_cast<T>(key + r)), hn::Load(d, x.lanes.mark + v * lanes));
        const V steep = hn::Mul(offset, hn::Set(d, T{4} / (align.reach * align.reach)));
        hn::Store(hn::Mul(w, steep), d, terms + at);
      } else {
        const V log = hn::Log(d, hn::IfThenElse(hn::Gt(w, zero), w, one));
        const V rate = hn::Set(d, T{1} / align.rate);
        const V term = hn::Mul(hn::Mul(w, hn::Sub(rate, log)), rate);
        hn::Store(term, d, terms + at);
        T* sum = x.lanes.limit + v * lanes;
        hn::Store(hn::Add(hn::Load(d, sum), term), d, sum);
      }
    }
  }
}

/// Sums of the values under weights, gains and drift terms; `gain_sums` get Σ of the gains.
template <int NV, class T>
void combine_rows(const ScoreSetup<T>& setup, const AlignSetup<T>& align, Panel panel,
                  std::int64_t begin, std::int64_t end, T* gain_sums, RowsScratch<T>& x) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const AttentionProblem& p = setup.p;
  const std::int64_t kv_head = setup.head / (p.heads / p.kv_heads), wide = NV * lanes;
  for (Gathered<T>* to : {&x.out, &x.mean, &x.drift}) {
    if (to->wanted) std::fill(to->sums, to->sums + wide * p.value_width, T{0});
  }
  V sums[NV];
  for (int v = 0; v < NV; ++v) sums[v] = hn::Zero(d);
  T* terms = x.tile.extra;
  x.waiting = 0;
  for (std::int64_t key = begin; key < end; key += kKeyBlock) {
    const std::int64_t count = std::min(kKeyBlock, end - key);
    weigh_tile<NV>(align, x.strip + (key - begin) * wide, key, count, x.lanes, 0, x.weights, wide,
                   x.gains);
    if (x.drift.wanted) drift_terms<NV>(align, key, count, x.weights, terms, x);
    if (x.dropped != nullptr) dropout_tile(setup, panel, key, count, x.dropped);
    const Rows<T> values =
        view_rows(p.value, p.type, key_element(p.value.stride, setup.e, kv_head, key), count,
                  p.value_width, x.values, p.value_width);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t to = x.waiting * wide;
      auto any = hn::Lt(hn::Zero(d), hn::Zero(d));
      for (int v = 0; v < NV; ++v) {
        const std::int64_t at = r * wide + v * lanes;
        V w = hn::Load(d, x.weights + at), g = hn::Load(d, x.gains + at);
        sums[v] = hn::Add(sums[v], g);
        V t = x.drift.wanted ? hn::Load(d, terms + at) : hn::Zero(d);
        any = hn::Or(any, hn::Ne(w, hn::Zero(d)));
        if (x.mean.wanted) any = hn::Or(any, hn::Ne(g, hn::Zero(d)));
        if (x.dropped != nullptr) {
          const V keep = hn::Load(d, x.dropped + at);
          w = hn::Mul(w, keep), g = hn::Mul(g, keep), t = hn::Mul(t, keep);
        }
        if (x.out.wanted) hn::Store(w, d, x.out.weights + to + v * lanes);
        if (x.mean.wanted) hn::Store(g, d, x.mean.weights + to + v * lanes);
        if (x.drift.wanted) hn::Store(t, d, x.drift.weights + to + v * lanes);
      }
      if (hn::AllFalse(d, any)) continue;
      std::copy_n(values.at + r * values.stride, p.value_width,
                  x.chosen + x.waiting * p.value_width);
      if (++x.waiting == kKeyBlock) flush<NV>(p, x);
    }
  }
  flush<NV>(p, x);
  for (int v = 0; v < NV; ++v) hn::Store(sums[v], d, gain_sums + v * lanes);
}

/// Writes a panel of sums, divided lane by lane.
template <class T>
void write_panel(const ScoreSetup<T>& setup, Panel panel, const Gathered<T>& from, Type type,
                 const Output& to, const T* factor, T* rows) {
  if (!from.wanted) return;
  const std::int64_t width = setup.p.value_width;
  if (factor != nullptr) {
    for (std::int64_t c = 0; c < width; ++c) {
      T* row = from.sums + c * panel.lanes;
      for (std::int64_t lane = 0; lane < panel.lanes; ++lane) row[lane] *= factor[lane];
    }
  }
  panel_to_rows(from.sums, panel.count, width, panel.lanes, rows, width);
  const std::int64_t element = query_element(to.stride, setup.e, setup.head, panel.query);
  for (std::int64_t i = 0; i < panel.count; ++i) {
    store_row(rows + i * width, width, to, type, element + i * to.stride[2]);
  }
}

template <class T>
void write_rows(const ScoreSetup<T>& setup, Panel panel, std::int64_t begin, std::int64_t pitch,
                const ForwardResult& result, const RowsScratch<T>& x) {
  const AttentionProblem& p = setup.p;
  for (std::int64_t i = 0; i < panel.count; ++i) {
    const std::int64_t row = setup.e.query_row(p.heads, setup.head, panel.query + i);
    const RowLanes<T>& l = x.lanes;
    const bool empty = l.divide[i] == T{0};
    const T lse = empty ? -std::numeric_limits<T>::infinity() : l.top[i] - std::log(l.divide[i]);
    if (result.lse != nullptr) result.lse[row] = static_cast<float>(lse);
    if (result.logp != nullptr) {
      const auto chosen = static_cast<std::int64_t>(l.mark[i]) - begin;
      result.logp[row] = empty ? 0.0f : static_cast<float>(x.strip[chosen * pitch + i] - lse);
    }
    if (result.state == nullptr) continue;
    T* state = static_cast<T*>(result.state) + kRowState * row;
    state[0] = l.top[i], state[1] = l.divide[i], state[2] = l.mark[i], state[3] = l.limit[i];
  }
}

template <class T>
void rows_panel(const RowsCall& call, const ScoreSetup<T>& setup, Panel panel, RowsScratch<T>& x) {
  const AttentionProblem& p = call.problem;
  const Type working = sizeof(T) == 8 ? Type::float64 : Type::float32;
  const auto lanes = x.lanes_of();
  x.lanes.clear();
  if (p.align == Align::local_p) {
    const T* center = static_cast<const T*>(p.center.data) +
                      query_element(p.center.stride, setup.e, setup.head, panel.query);
    for (std::int64_t i = 0; i < panel.lanes; ++i) {
      x.lanes.mark[i] = center[std::min(i, panel.count - 1) * p.center.stride[2]];
    }
  }
  const Rows<T> queries =
      view_rows(p.query, p.type, query_element(p.query.stride, setup.e, setup.head, panel.query),
                panel.count, p.width, x.rows, p.width);
  load_panel(p, queries, panel, x.queries);
  const AlignSetup<T> align(p, setup.head);
  const auto [begin, end] = key_range(setup, panel, x.lanes);
  HWY_ALIGN T gain_sums[kQueryBlock];
  with_vectors(panel.lanes / lanes, [&, begin = begin, end = end](auto vectors) HWY_ATTR {
    constexpr int NV = vectors.value;
    fill_strip<NV>(setup, panel, begin, end, x);
    solve_rows<NV>(setup, align, panel, begin, end, x);
    combine_rows<NV>(setup, align, panel, begin, end, gain_sums, x);
  });
  for (T& sum : gain_sums) sum = sum > T{0} ? T{1} / sum : T{0};
  write_panel<T>(setup, panel, x.out, p.type, call.result.out, nullptr, x.rows);
  write_panel<T>(setup, panel, x.mean, working, call.result.mean, gain_sums, x.rows);
  write_panel<T>(setup, panel, x.drift, working, call.result.drift, nullptr, x.rows);
  write_rows(setup, panel, begin, panel.lanes, call.result, x);
}

template <class T>
void rows_worker(const RowsCall& call) {
  RowsScratch<T> scratch(call.problem, call.result);
  std::int64_t item;
  while (call.queue.next(item)) {
    const QueryBlock& block = call.blocks[static_cast<std::size_t>(item)];
    const ScoreSetup<T> setup(call.problem, call.entries[static_cast<std::size_t>(block.entry)],
                              block.head);
    for (std::int64_t i = 0; i < block.count;) {
      const Panel panel = next_panel(block.query + i, block.count - i, scratch.lanes_of());
      rows_panel(call, setup, panel, scratch);
      i += panel.lanes;
    }
  }
}

void rows_impl(const RowsCall& call) {
  if (call.problem.type == Type::float64) {
    rows_worker<double>(call);
  } else {
    rows_worker<float>(call);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(rows_impl);

void rows_forward(const AttentionProblem& problem, const ForwardResult& result,
                  const std::vector<Entry>& entries, const std::vector<QueryBlock>& blocks) {
  WorkQueue queue(static_cast<std::int64_t>(blocks.size()));
  const RowsCall call{problem, result, entries, blocks, queue};
  run_workers(queue.count(), product_work(problem, entries), [&] {
    HWY_DYNAMIC_DISPATCH(rows_impl)(call);
  });
}

}  // namespace heed::kernels
#endif
