// Graph attention forward: one target at a time, its in-edges three times. The first pass scores
// them, the second takes exponentials, the third gathers the sources' rows into registers. What the
// passes share of one target stays in the first cache.
#include <stdexcept>

#include "heed/kernels/graph.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/simd_internal.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/graph_forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/graph-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct TargetArrays {
  T* score;  // [degree][lanes]
  T* row;
  T* plain;
  T* buffer;  // a vector
};

template <class T, bool kGat>
void forward_target(const EdgeView<T, kGat> scores, std::int64_t node,
                    const GraphForwardResult result, const TargetArrays<T> x) {
  const NodeTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const NodeRows<T> rows = scores.rows;
  const GraphProblem& p = *scores.p;
  const std::int64_t begin = p.graph.in_start[node], degree = p.graph.in_start[node + 1] - begin;
  const std::int32_t* from = p.graph.in_source + begin;
  const std::int32_t* edge = p.graph.in_edge + begin;
  const std::int64_t left = p.graph.edges - begin - 1;  // counted from here to the last edge of all
  T* state = static_cast<T*>(result.state) + (result.state ? node * rows.heads * 2 : 0);
  if (degree == 0) {
    if (result.out != nullptr) clear_node(rows, result.out, p.type, node);
    if (result.state != nullptr) std::fill(state, state + rows.heads * 2, T{0});
    return;
  }
  const V factor = hn::Set(d, std::numbers::log2e_v<T>);
  for (std::int64_t g = 0; g < rows.groups; ++g) {
    V top = hn::Set(d, -std::numeric_limits<T>::infinity());
    for (std::int64_t k = 0; k < degree; ++k) {
      const std::int64_t soon = from[std::min(k + kAhead, left)];
      prefetch_row(scores.source + soon * rows.row() + g * rows.group(), rows.group());
      if constexpr (kGat) {
        hwy::Prefetch(scores.source_part + soon * rows.per_head() + g * rows.lanes());
      }
      const V score = scores.finish(scores.raw(g, from[k], node));
      hn::Store(score, d, x.score + k * rows.lanes());
      top = hn::Max(top, score);
    }
    V sum = hn::Zero(d);
    for (std::int64_t k = 0; k < degree; ++k) {
      T* at = x.score + k * rows.lanes();
      const V w = exp2_softmax(d, hn::Mul(hn::Sub(hn::Load(d, at), top), factor));
      hn::Store(w, d, at);
      sum = hn::Add(sum, w);
    }
    const V divide = hn::Div(hn::Set(d, T{1}), sum);
    for (std::int64_t k = 0; k < degree && result.weights != nullptr; ++k) {
      store_heads(rows, g, hn::Mul(hn::Load(d, x.score + k * rows.lanes()), divide), result.weights,
                  p.type, edge[k] * rows.heads, x.buffer);
    }
    if (result.state != nullptr) {
      constexpr Type kWorking = sizeof(T) == 8 ? Type::float64 : Type::float32;
      store_heads(rows, g, top, state, kWorking, 0, x.buffer);
      store_heads(rows, g, divide, state, kWorking, rows.heads, x.buffer);
    }
    if (p.dropout > 0) {
      for (std::int64_t k = 0; k < degree; ++k) {
        T* at = x.score + k * rows.lanes();
        hn::Store(hn::Mul(hn::Load(d, at), scores.dropout(g, edge[k], x.buffer)), d, at);
      }
    }
    in_chunks<8>(rows.vectors, [&](std::int64_t first, auto count) HWY_ATTR {
      constexpr int NV = decltype(count)::value;
      const T* table = scores.source + g * rows.group() + first * rows.lanes();
      V acc[NV];
      for (int v = 0; v < NV; ++v) acc[v] = hn::Zero(d);
      for (std::int64_t k = 0; k < degree; ++k) {
        const V w = hn::Load(d, x.score + k * rows.lanes());
        const T* row = table + from[k] * rows.row();
        for (int v = 0; v < NV; ++v) {
          acc[v] = hn::MulAdd(w, hn::Load(d, row + v * rows.lanes()), acc[v]);
        }
      }
      T* to = x.row + g * rows.group() + first * rows.lanes();
      for (int v = 0; v < NV; ++v) hn::Store(hn::Mul(acc[v], divide), d, to + v * rows.lanes());
    });
  }
  if (result.out != nullptr) unpack_node(rows, x.row, result.out, p.type, node, x.plain);
}

template <class T, bool kGat>
void forward_targets(const GraphProblem& p, const GraphForwardResult& result) {
  const EdgeTables<T, kGat> tables(p);
  const NodeRows<T> rows = tables.view.rows;
  const auto ranges = share_nodes(p.graph.in_start, p.graph.targets);
  const std::int64_t degree = largest_degree(p.graph.in_start, p.graph.targets);
  const double work = static_cast<double>(p.graph.edges * (rows.row() + 16));
  WorkQueue queue(static_cast<std::int64_t>(ranges.size()));
  run_workers(queue.count(), work, [&]() HWY_ATTR {
    Scratch<T> memory;
    const TargetArrays<T> x{memory.take(degree * rows.lanes()), memory.take(rows.row()),
                            memory.take(rows.heads * rows.width), memory.take(rows.lanes())};
    std::int64_t item;
    while (queue.next(item)) {
      const NodeRange range = ranges[static_cast<std::size_t>(item)];
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        forward_target(tables.view, i, result, x);
      }
    }
  });
}

void graph_forward_impl(const GraphProblem& p, const GraphForwardResult& result) {
  const bool gat = p.score == GraphScore::gat;
  if (p.type == Type::float64) {
    gat ? forward_targets<double, true>(p, result) : forward_targets<double, false>(p, result);
  } else {
    gat ? forward_targets<float, true>(p, result) : forward_targets<float, false>(p, result);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(graph_forward_impl);

void graph_forward(const GraphProblem& problem, const GraphForwardResult& result) {
  check_graph_problem(problem);
  apply_simd_environment();
  HWY_DYNAMIC_DISPATCH(graph_forward_impl)(problem, result);
}

}  // namespace heed::kernels
#endif
