// Graph attention backward, in two passes. By target: the softmax's gradient of each edge, and what
// of it belongs to the target. By source: the sum over its out-edges. Each node is written by the
// one thread that owns it, so nothing is added atomically.
#include <stdexcept>

#include "heed/kernels/graph.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/simd_internal.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/graph_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/graph-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct NodeArrays {
  T *weight, *gradient;  // [degree][lanes]
  T* row;
  T* plain;
  T* buffer;  // a vector
};

template <class T, bool kGat>
class GraphBackward {
 public:
  using D = NodeTag<T>;
  using V = hn::Vec<D>;

  GraphBackward(const GraphProblem& problem, const GraphBackwardInputs& inputs,
                const GraphBackwardResult& result)
      : p_(problem), graph_(problem.graph), in_(inputs), out_(result), tables_(problem) {
    grad_out_ = memory_.take(graph_.targets * rows_.row());
    edges_ = memory_.take(graph_.edges * rows_.per_head() * 2);
    target_sum_ = memory_.take(graph_.targets * rows_.per_head());
    if (!p_.own_targets && !kGat) target_rows_ = memory_.take(graph_.targets * rows_.row());
  }

  void run() {
    // gatv2's one vector gets its gradient from the targets, gat's two from either side.
    pass(graph_.in_start, graph_.targets, kGat ? out_.a_target : out_.a_source,
         [this](std::int64_t i, T* sum, NodeArrays<T> x) HWY_ATTR { target(i, sum, x); });
    if (out_.source == nullptr && (!kGat || out_.a_source == nullptr)) return;
    pass(graph_.out_start, graph_.sources, kGat ? out_.a_source : nullptr,
         [this](std::int64_t j, T* sum, NodeArrays<T> x) HWY_ATTR { source(j, sum, x); });
  }

 private:
  /// step(node, sum of its range) for every node; then the ranges' sums, in order, into `vector`.
  template <class Step>
  void pass(const std::int32_t* start, std::int64_t nodes, void* vector, const Step& step) {
    const auto ranges = share_nodes(start, nodes);
    const std::int64_t degree = largest_degree(start, nodes);
    const auto count = static_cast<std::int64_t>(ranges.size());
    KeptScratch<T> kept;
    T* sums = kept.take((count + 1) * rows_.row());
    std::fill(sums, sums + (count + 1) * rows_.row(), T{0});
    WorkQueue queue(count);
    const double work = static_cast<double>(graph_.edges * (rows_.row() + 16) * 2);
    run_workers(count, work, [&]() HWY_ATTR {
      Scratch<T> memory;
      const NodeArrays<T> x{memory.take(degree * rows_.lanes()),
                            memory.take(degree * rows_.lanes()), memory.take(rows_.row()),
                            memory.take(rows_.heads * rows_.width), memory.take(rows_.lanes())};
      std::int64_t item;
      while (queue.next(item)) {
        const NodeRange range = ranges[static_cast<std::size_t>(item)];
        T* sum = sums + (item + 1) * rows_.row();
        for (std::int64_t node = range.begin; node < range.end; ++node) step(node, sum, x);
      }
    });
    if (vector == nullptr) return;
    for (std::int64_t item = 1; item <= count; ++item) {
      for (std::int64_t c = 0; c < rows_.row(); ++c) sums[c] += sums[item * rows_.row() + c];
    }
    T* plain = kept.take(rows_.heads * rows_.width);
    unpack_node(rows_, sums, vector, sizeof(T) == 8 ? Type::float64 : Type::float32, 0, plain);
  }

  /// What each edge of a target hands on: weight after dropout, and the gradient of its score (for
  /// gat, of the sum before the LeakyReLU).
  static HWY_INLINE T* edge_at(T* edges, const NodeRows<T>& rows, std::int64_t place,
                               std::int64_t g) {
    return edges + (place * rows.groups + g) * 2 * rows.lanes();
  }

  V grad_weight(std::int64_t g, std::int64_t edge, T* buffer) const {
    const std::int64_t at = edge * rows_.heads;
    const auto load = [&](auto* from) HWY_ATTR { return spread_heads(rows_, g, from, buffer); };
    switch (p_.type) {
      case Type::float32:
        return load(static_cast<const float*>(in_.grad_weights) + at);
      case Type::float64:
        return load(static_cast<const double*>(in_.grad_weights) + at);
      case Type::bfloat16:
        return load(static_cast<const BFloat16*>(in_.grad_weights) + at);
      default:
        return load(static_cast<const Float16*>(in_.grad_weights) + at);
    }
  }

  /// The softmax's gradient of the edges of target i in one group; returns its sum.
  V softmax_gradient(std::int64_t i, std::int64_t g, const NodeArrays<T> x) const {
    const D d;
    const EdgeView<T, kGat> scores = scores_;
    const NodeRows<T> rows = scores.rows;
    T* const edges = edges_;
    const std::int32_t* const sources = graph_.in_source;
    const std::int64_t lanes = rows.lanes(), last = graph_.edges - 1;
    const std::int64_t begin = graph_.in_start[i], degree = graph_.in_start[i + 1] - begin;
    const bool dropout = p_.dropout > 0, weights = in_.grad_weights != nullptr;
    const T* state = static_cast<const T*>(in_.state) + i * rows.heads * 2;
    const V top = spread_heads(rows, g, state, x.buffer);
    const V divide = spread_heads(rows, g, state + rows.heads, x.buffer);
    const V factor = hn::Set(d, std::numbers::log2e_v<T>), low = hn::Set(d, scores.slope);
    const T* const grad = grad_out_ + i * rows.row() + g * rows.group();
    const T* const table = scores.source + g * rows.group();
    V mean = hn::Zero(d);
    for (std::int64_t k = 0; k < degree; ++k) {
      const std::int64_t place = begin + k, from = sources[place];
      const std::int64_t soon = sources[std::min(place + kAhead, last)];
      prefetch_row(table + soon * rows.row(), rows.group());
      if constexpr (kGat) hwy::Prefetch(scores.source_part + soon * rows.per_head() + g * lanes);
      const V raw = scores.raw(g, from, i);
      V w = exp2_softmax(d, hn::Mul(hn::Sub(scores.finish(raw), top), factor));
      w = hn::Mul(w, divide);
      V gradient = dot_heads(rows, grad, table + from * rows.row()), used = w;
      if (dropout) {
        const V keep = scores.dropout(g, graph_.in_edge[place], x.buffer);
        gradient = hn::Mul(gradient, keep);
        used = hn::Mul(w, keep);
      }
      if (weights) {
        gradient = hn::Add(gradient, grad_weight(g, graph_.in_edge[place], x.buffer));
      }
      mean = hn::MulAdd(w, gradient, mean);
      if constexpr (kGat) w = hn::Mul(w, leaky_slope(d, raw, low));
      hn::Store(used, d, edge_at(edges, rows, place, g));
      hn::Store(w, d, x.weight + k * lanes);
      hn::Store(gradient, d, x.gradient + k * lanes);
    }
    V sum = hn::Zero(d);
    for (std::int64_t k = 0; k < degree; ++k) {
      const V above = hn::Sub(hn::Load(d, x.gradient + k * lanes), mean);
      const V gradient = hn::Mul(hn::Load(d, x.weight + k * lanes), above);
      hn::Store(gradient, d, edge_at(edges, rows, begin + k, g) + lanes);
      sum = hn::Add(sum, gradient);
    }
    return sum;
  }

  /// gatv2: what the edges of target i give to its row and to the vector, one group of heads.
  void through_sum(std::int64_t i, std::int64_t g, T* row, T* sum) const {
    const D d;
    const EdgeView<T, kGat> scores = scores_;
    const NodeRows<T> rows = scores.rows;
    const std::int64_t lanes = rows.lanes();
    const std::int32_t* const sources = graph_.in_source;
    const std::int64_t begin = graph_.in_start[i], end = graph_.in_start[i + 1];
    T* const edges = edges_;
    in_chunks<4>(rows.vectors, [=](std::int64_t vector, auto count) HWY_ATTR {
      constexpr int NV = decltype(count)::value;
      const std::int64_t column = g * rows.group() + vector * lanes;
      const T* const mine = scores.target + i * rows.row() + column;
      const V low = hn::Set(d, scores.slope);
      V own[NV], slopes[NV], values[NV];
      for (int v = 0; v < NV; ++v) {
        own[v] = hn::Load(d, mine + v * lanes);
        slopes[v] = values[v] = hn::Zero(d);
      }
      for (std::int64_t place = begin; place < end; ++place) {
        const V gradient = hn::Load(d, edge_at(edges, rows, place, g) + lanes);
        const T* other = scores.source + sources[place] * rows.row() + column;
        for (int v = 0; v < NV; ++v) {
          const V both = hn::Add(hn::Load(d, other + v * lanes), own[v]);
          const V slope = leaky_slope(d, both, low);
          slopes[v] = hn::MulAdd(gradient, slope, slopes[v]);
          values[v] = hn::MulAdd(gradient, hn::Mul(both, slope), values[v]);
        }
      }
      for (int v = 0; v < NV; ++v) {
        const std::int64_t c = column + v * lanes;
        hn::Store(hn::Mul(slopes[v], hn::Load(d, scores.a_source + c)), d, row + c);
        hn::Store(hn::Add(hn::Load(d, sum + c), values[v]), d, sum + c);
      }
    });
  }

  void target(std::int64_t i, T* sum, const NodeArrays<T> x) const {
    const D d;
    const NodeRows<T> rows = rows_;
    if (graph_.in_start[i] == graph_.in_start[i + 1]) {
      if (out_.target != nullptr) clear_node(rows, out_.target, p_.type, i);
      return;
    }
    // Packed here, where it is used first; no edge of the second pass leads to a target without.
    pack_node(rows, in_.grad_out, p_.type, i, x.plain, grad_out_ + i * rows.row());
    T* row = target_rows_ != nullptr ? target_rows_ + i * rows.row() : x.row;
    const T* const mine = scores_.target + i * rows.row();
    const T* const a = scores_.a_target;
    for (std::int64_t g = 0; g < rows.groups; ++g) {
      const V total = softmax_gradient(i, g, x);
      hn::Store(total, d, target_sum_ + i * rows.per_head() + g * rows.lanes());
      if constexpr (!kGat) {
        through_sum(i, g, row, sum);
      } else {
        for (std::int64_t c = g * rows.group(); c < (g + 1) * rows.group(); c += rows.lanes()) {
          hn::Store(hn::MulAdd(total, hn::Load(d, mine + c), hn::Load(d, sum + c)), d, sum + c);
          hn::Store(hn::Mul(total, hn::Load(d, a + c)), d, row + c);
        }
      }
    }
    if (out_.target != nullptr) unpack_node(rows, row, out_.target, p_.type, i, x.plain);
  }

  /// Σ over the out-edges of source j of their share, one group of heads, into `row`; returns the
  /// sum of their score gradients.
  V gather(std::int64_t j, std::int64_t g, T* const row) const {
    const D d;
    const EdgeView<T, kGat> scores = scores_;
    const NodeRows<T> rows = scores.rows;
    T* const edges = edges_;
    const T* const grad_out = grad_out_;
    const std::int32_t *const places = graph_.out_place, *const targets = graph_.out_target;
    const std::int64_t lanes = rows.lanes(), last = graph_.edges - 1;
    const std::int64_t begin = graph_.out_start[j], end = graph_.out_start[j + 1];
    V total = hn::Zero(d);
    in_chunks<kGat ? 8 : 4>(rows.vectors, [&, d](std::int64_t vector, auto count) HWY_ATTR {
      constexpr int NV = decltype(count)::value;
      const std::int64_t column = g * rows.group() + vector * lanes;
      const T* const mine = scores.source + j * rows.row() + column;
      const V low = hn::Set(d, scores.slope);
      V acc[NV], slopes[kGat ? 1 : NV], own[kGat ? 1 : NV], sum = hn::Zero(d);
      for (int v = 0; v < NV; ++v) {
        acc[v] = hn::Zero(d);
        if constexpr (!kGat) slopes[v] = hn::Zero(d), own[v] = hn::Load(d, mine + v * lanes);
      }
      for (std::int64_t e = begin; e < end; ++e) {
        const std::int64_t soon = std::min(e + kAhead, last);
        hwy::Prefetch(edge_at(edges, rows, places[soon], g));
        prefetch_row(grad_out + targets[soon] * rows.row() + column, NV * lanes);
        const T* from = edge_at(edges, rows, places[e], g);
        const V weight = hn::Load(d, from), gradient = hn::Load(d, from + lanes);
        const std::int64_t at = targets[e] * rows.row() + column;
        sum = hn::Add(sum, gradient);
        for (int v = 0; v < NV; ++v) {
          acc[v] = hn::MulAdd(weight, hn::Load(d, grad_out + at + v * lanes), acc[v]);
          if constexpr (!kGat) {
            const V both = hn::Add(own[v], hn::Load(d, scores.target + at + v * lanes));
            slopes[v] = hn::MulAdd(gradient, leaky_slope(d, both, low), slopes[v]);
          }
        }
      }
      for (int v = 0; v < NV; ++v) {
        if constexpr (!kGat) {
          const V a = hn::Load(d, scores.a_source + column + v * lanes);
          acc[v] = hn::MulAdd(slopes[v], a, acc[v]);
        }
        hn::Store(acc[v], d, row + column + v * lanes);
      }
      total = sum;
    });
    return total;
  }

  void source(std::int64_t j, T* sum, const NodeArrays<T> x) const {
    const D d;
    const NodeRows<T> rows = rows_;
    const bool is_source = graph_.out_start[j] != graph_.out_start[j + 1];
    const bool is_target = !p_.own_targets && graph_.in_start[j] != graph_.in_start[j + 1];
    // Skipped, not multiplied by zero: a vector that is not finite must not reach other nodes.
    if (!is_source && !is_target) {
      if (out_.source != nullptr) clear_node(rows, out_.source, p_.type, j);
      return;
    }
    if (!is_source) std::fill(x.row, x.row + rows.row(), T{0});
    const T* const mine = scores_.source + j * rows.row();
    const T* const a = scores_.a_source;
    for (std::int64_t g = 0; g < rows.groups && is_source; ++g) {
      const V total = gather(j, g, x.row);
      if constexpr (kGat) {
        for (std::int64_t c = g * rows.group(); c < (g + 1) * rows.group(); c += rows.lanes()) {
          hn::Store(hn::MulAdd(total, hn::Load(d, a + c), hn::Load(d, x.row + c)), d, x.row + c);
          hn::Store(hn::MulAdd(total, hn::Load(d, mine + c), hn::Load(d, sum + c)), d, sum + c);
        }
      }
    }
    if (is_target) add_target(j, x.row);
    if (out_.source != nullptr) unpack_node(rows, x.row, out_.source, p_.type, j, x.plain);
  }

  /// The share of a node as a target, when targets and sources are the same nodes.
  void add_target(std::int64_t i, T* const row) const {
    const D d;
    const NodeRows<T> rows = rows_;
    const T* const a = scores_.a_target;
    for (std::int64_t g = 0; g < rows.groups; ++g) {
      const V total = hn::Load(d, target_sum_ + i * rows.per_head() + g * rows.lanes());
      const T* const share = target_rows_ + (kGat ? 0 : i * rows.row());
      for (std::int64_t c = g * rows.group(); c < (g + 1) * rows.group(); c += rows.lanes()) {
        const V old = hn::Load(d, row + c);
        if constexpr (kGat) {
          hn::Store(hn::MulAdd(total, hn::Load(d, a + c), old), d, row + c);
        } else {
          hn::Store(hn::Add(old, hn::Load(d, share + c)), d, row + c);
        }
      }
    }
  }

  const GraphProblem& p_;
  const GraphEdges& graph_;
  const GraphBackwardInputs& in_;
  const GraphBackwardResult& out_;
  const EdgeTables<T, kGat> tables_;
  const EdgeView<T, kGat> scores_ = tables_.view;
  const NodeRows<T> rows_ = scores_.rows;
  KeptScratch<T> memory_;
  T* grad_out_;               // [M] rows, filled by the first pass
  T* edges_;                  // [E][groups][2][lanes], by place
  T* target_sum_;             // [M][per_head]: Σ of the score gradients of a target's edges
  T* target_rows_ = nullptr;  // [M] rows, gatv2 with shared nodes
};

void graph_backward_impl(const GraphProblem& p, const GraphBackwardInputs& inputs,
                         const GraphBackwardResult& result) {
  const bool gat = p.score == GraphScore::gat;
  if (p.type == Type::float64) {
    gat ? GraphBackward<double, true>(p, inputs, result).run()
        : GraphBackward<double, false>(p, inputs, result).run();
  } else {
    gat ? GraphBackward<float, true>(p, inputs, result).run()
        : GraphBackward<float, false>(p, inputs, result).run();
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(graph_backward_impl);

void graph_backward(const GraphProblem& problem, const GraphBackwardInputs& inputs,
                    const GraphBackwardResult& result) {
  check_graph_problem(problem);
  apply_simd_environment();
  HWY_DYNAMIC_DISPATCH(graph_backward_impl)(problem, inputs, result);
}

}  // namespace heed::kernels
#endif
