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

constexpr std::int64_t kAhead = 8;  // edges between asking for a row and using it

template <class T>
struct NodeScratch {
  NodeScratch(const NodeRows<T>& rows, std::int64_t degree)
      : weight(memory.take(degree * rows.lanes)),
        gradient(memory.take(degree * rows.lanes)),
        slope(memory.take(degree * rows.lanes)),
        row(memory.take(rows.row())),
        plain(memory.take(rows.heads * rows.width)),
        buffer(memory.take(rows.lanes)) {}

  Scratch<T> memory;
  T *weight, *gradient, *slope;  // [degree][lanes]
  T* row;
  T* plain;
  T* buffer;
};

template <class T>
class GraphBackward {
 public:
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  GraphBackward(const GraphProblem& problem, const GraphBackwardInputs& inputs,
                const GraphBackwardResult& result)
      : p_(problem), graph_(problem.graph), in_(inputs), out_(result), scores_(problem) {
    T* packed = memory_.take(graph_.targets * rows_.row());
    grad_out_ = packed;
    pack_nodes(p_, rows_, in_.grad_out, graph_.targets, packed, [](std::int64_t, const T*) {});
    edges_ = memory_.take(graph_.edges * rows_.per_head() * 2);
    target_sum_ = memory_.take(graph_.targets * rows_.per_head());
    if (!p_.own_targets && !scores_.gat()) {
      target_rows_ = memory_.take(graph_.targets * rows_.row());
    }
  }

  void run() {
    // gatv2's one vector gets its gradient from the targets, gat's two from either side.
    pass(graph_.in_start, graph_.targets, scores_.gat() ? out_.a_target : out_.a_source,
         [this](std::int64_t i, T* sum, NodeScratch<T>& x) HWY_ATTR { target(i, sum, x); });
    if (out_.source == nullptr && (!scores_.gat() || out_.a_source == nullptr)) return;
    pass(graph_.out_start, graph_.sources, scores_.gat() ? out_.a_source : nullptr,
         [this](std::int64_t j, T* sum, NodeScratch<T>& x) HWY_ATTR { source(j, sum, x); });
  }

 private:
  /// step(node, sum of its range) for every node; then the ranges' sums, in order, into `vector`.
  template <class Step>
  void pass(const std::int32_t* start, std::int64_t nodes, void* vector, const Step& step) {
    const auto ranges = share_nodes(start, nodes);
    const std::int64_t degree = largest_degree(start, nodes);
    const auto count = static_cast<std::int64_t>(ranges.size());
    Scratch<T> memory;
    T* sums = memory.take((count + 1) * rows_.row());
    std::fill(sums, sums + (count + 1) * rows_.row(), T{0});
    WorkQueue queue(count);
    const double work = static_cast<double>(graph_.edges * (rows_.row() + 16) * 2);
    run_workers(count, work, [&]() HWY_ATTR {
      NodeScratch<T> scratch(rows_, degree);
      std::int64_t item;
      while (queue.next(item)) {
        const NodeRange range = ranges[static_cast<std::size_t>(item)];
        T* sum = sums + (item + 1) * rows_.row();
        for (std::int64_t node = range.begin; node < range.end; ++node) step(node, sum, scratch);
      }
    });
    if (vector == nullptr) return;
    for (std::int64_t i = rows_.row(); i < (count + 1) * rows_.row(); ++i) {
      sums[i % rows_.row()] += sums[i];
    }
    T* plain = memory.take(rows_.heads * rows_.width);
    unpack_node(rows_, sums, vector, sizeof(T) == 8 ? Type::float64 : Type::float32, 0, plain);
  }

  /// What each edge of a target hands on: weight after dropout, and the gradient of its score (for
  /// gat, of the sum before the LeakyReLU).
  T* edge(std::int64_t place, std::int64_t g) const {
    return edges_ + (place * rows_.groups + g) * 2 * rows_.lanes;
  }

  V grad_weight(std::int64_t g, std::int64_t edge, T* buffer) const {
    const std::int64_t at = edge * rows_.heads;
    const auto load = [&](auto* from) HWY_ATTR { return spread_heads(rows_, g, from, 1, buffer); };
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
  V softmax_gradient(std::int64_t i, std::int64_t g, NodeScratch<T>& x) const {
    const D d;
    const std::int64_t lanes = rows_.lanes;
    const std::int64_t begin = graph_.in_start[i], degree = graph_.in_start[i + 1] - begin;
    const T* state = static_cast<const T*>(in_.state) + i * rows_.heads * 2;
    const V top = spread_heads(rows_, g, state, 2, x.buffer);
    const V divide = spread_heads(rows_, g, state + 1, 2, x.buffer);
    const V factor = hn::Set(d, std::numbers::log2e_v<T>), low = hn::Set(d, scores_.slope);
    const T* grad = grad_out_ + i * rows_.row() + g * rows_.group();
    V mean = hn::Zero(d);
    for (std::int64_t k = 0; k < degree; ++k) {
      const std::int64_t place = begin + k, from = graph_.in_source[place];
      if (place + kAhead < graph_.edges) {
        scores_.prefetch(scores_.source, graph_.in_source[place + kAhead], g);
      }
      const V raw = scores_.raw(g, from, i);
      const V score = scores_.finish(raw);
      const V w = hn::Mul(exp2_softmax(d, hn::Mul(hn::Sub(score, top), factor)), divide);
      V gradient = dot_heads(rows_, grad, scores_.source + from * rows_.row() + g * rows_.group());
      V used = w;
      if (p_.dropout > 0) {
        const V keep = scores_.dropout(g, graph_.in_edge[place], x.buffer);
        gradient = hn::Mul(gradient, keep);
        used = hn::Mul(w, keep);
      }
      if (in_.grad_weights != nullptr) {
        gradient = hn::Add(gradient, grad_weight(g, graph_.in_edge[place], x.buffer));
      }
      mean = hn::MulAdd(w, gradient, mean);
      hn::Store(used, d, edge(place, g));
      hn::Store(w, d, x.weight + k * lanes);
      hn::Store(gradient, d, x.gradient + k * lanes);
      if (scores_.gat()) hn::Store(leaky_slope(d, raw, low), d, x.slope + k * lanes);
    }
    V sum = hn::Zero(d);
    for (std::int64_t k = 0; k < degree; ++k) {
      const V above = hn::Sub(hn::Load(d, x.gradient + k * lanes), mean);
      V gradient = hn::Mul(hn::Load(d, x.weight + k * lanes), above);
      if (scores_.gat()) gradient = hn::Mul(gradient, hn::Load(d, x.slope + k * lanes));
      hn::Store(gradient, d, edge(begin + k, g) + lanes);
      sum = hn::Add(sum, gradient);
    }
    return sum;
  }

  void target(std::int64_t i, T* sum, NodeScratch<T>& x) const {
    const D d;
    const std::int64_t lanes = rows_.lanes;
    const std::int64_t begin = graph_.in_start[i], end = graph_.in_start[i + 1];
    if (begin == end) {
      if (out_.target != nullptr) clear_node(rows_, out_.target, p_.type, i);
      return;
    }
    T* row = target_rows_ != nullptr ? target_rows_ + i * rows_.row() : x.row;
    for (std::int64_t g = 0; g < rows_.groups; ++g) {
      const V total = softmax_gradient(i, g, x);
      hn::Store(total, d, target_sum_ + i * rows_.per_head() + g * lanes);
      const T* mine = scores_.target + i * rows_.row();
      const std::int64_t first = g * rows_.group(), last = first + rows_.group();
      if (scores_.gat()) {
        for (std::int64_t c = first; c < last; c += lanes) {
          hn::Store(hn::MulAdd(total, hn::Load(d, mine + c), hn::Load(d, sum + c)), d, sum + c);
          hn::Store(hn::Mul(total, hn::Load(d, scores_.a_target + c)), d, row + c);
        }
        continue;
      }
      in_chunks<4>(rows_.vectors, [&](std::int64_t vector, auto count) HWY_ATTR {
        constexpr int NV = decltype(count)::value;
        const std::int64_t column = first + vector * lanes;
        const V low = hn::Set(d, scores_.slope);
        V own[NV], slopes[NV], values[NV];
        for (int v = 0; v < NV; ++v) {
          own[v] = hn::Load(d, mine + column + v * lanes);
          slopes[v] = values[v] = hn::Zero(d);
        }
        for (std::int64_t place = begin; place < end; ++place) {
          const V gradient = hn::Load(d, edge(place, g) + lanes);
          const T* other = scores_.source + graph_.in_source[place] * rows_.row() + column;
          for (int v = 0; v < NV; ++v) {
            const V both = hn::Add(hn::Load(d, other + v * lanes), own[v]);
            const V slope = leaky_slope(d, both, low);
            slopes[v] = hn::MulAdd(gradient, slope, slopes[v]);
            values[v] = hn::MulAdd(gradient, hn::Mul(both, slope), values[v]);
          }
        }
        for (int v = 0; v < NV; ++v) {
          const std::int64_t c = column + v * lanes;
          hn::Store(hn::Mul(slopes[v], hn::Load(d, scores_.a_source + c)), d, row + c);
          hn::Store(hn::Add(hn::Load(d, sum + c), values[v]), d, sum + c);
        }
      });
    }
    if (out_.target != nullptr) unpack_node(rows_, row, out_.target, p_.type, i, x.plain);
  }

  /// Σ over the out-edges of source j of their share, one group of heads, into `row`.
  void gather(std::int64_t j, std::int64_t g, T* row) const {
    const D d;
    const std::int64_t lanes = rows_.lanes, first = g * rows_.group();
    const std::int64_t begin = graph_.out_start[j], end = graph_.out_start[j + 1];
    const auto run = [&](std::int64_t vector, auto count, auto gat) HWY_ATTR {
      constexpr int NV = decltype(count)::value;
      constexpr bool kGat = decltype(gat)::value;
      const std::int64_t column = first + vector * lanes;
      const T* mine = scores_.source + j * rows_.row() + column;
      const V low = hn::Set(d, scores_.slope);
      V acc[NV], slopes[kGat ? 1 : NV], own[kGat ? 1 : NV];
      for (int v = 0; v < NV; ++v) {
        acc[v] = hn::Zero(d);
        if constexpr (!kGat) slopes[v] = hn::Zero(d), own[v] = hn::Load(d, mine + v * lanes);
      }
      for (std::int64_t e = begin; e < end; ++e) {
        const T* from = edge(graph_.out_place[e], g);
        const V weight = hn::Load(d, from), gradient = hn::Load(d, from + lanes);
        const std::int64_t at = graph_.out_target[e] * rows_.row() + column;
        for (int v = 0; v < NV; ++v) {
          acc[v] = hn::MulAdd(weight, hn::Load(d, grad_out_ + at + v * lanes), acc[v]);
          if constexpr (!kGat) {
            const V both = hn::Add(own[v], hn::Load(d, scores_.target + at + v * lanes));
            slopes[v] = hn::MulAdd(gradient, leaky_slope(d, both, low), slopes[v]);
          }
        }
      }
      for (int v = 0; v < NV; ++v) {
        if constexpr (!kGat) {
          const V a = hn::Load(d, scores_.a_source + column + v * lanes);
          acc[v] = hn::MulAdd(slopes[v], a, acc[v]);
        }
        hn::Store(acc[v], d, row + column + v * lanes);
      }
    };
    if (scores_.gat()) {
      in_chunks<8>(rows_.vectors, [&](std::int64_t vector, auto count)
                                      HWY_ATTR { run(vector, count, std::true_type()); });
    } else {
      in_chunks<4>(rows_.vectors, [&](std::int64_t vector, auto count)
                                      HWY_ATTR { run(vector, count, std::false_type()); });
    }
  }

  void source(std::int64_t j, T* sum, NodeScratch<T>& x) const {
    const D d;
    const std::int64_t lanes = rows_.lanes;
    const std::int64_t begin = graph_.out_start[j], end = graph_.out_start[j + 1];
    const bool is_target = !p_.own_targets && graph_.in_start[j] != graph_.in_start[j + 1];
    // Skipped, not multiplied by zero: a vector that is not finite must not reach other nodes.
    if (begin == end && !is_target) {
      if (out_.source != nullptr) clear_node(rows_, out_.source, p_.type, j);
      return;
    }
    for (std::int64_t e = end; e < std::min(end + kAhead, graph_.edges); ++e) {
      scores_.prefetch(grad_out_, graph_.out_target[e], 0);
      hwy::Prefetch(edge(graph_.out_place[e], 0));
    }
    std::fill(x.row, x.row + rows_.row(), T{0});
    for (std::int64_t g = 0; g < rows_.groups && begin != end; ++g) {
      gather(j, g, x.row);
      if (!scores_.gat()) continue;
      V total = hn::Zero(d);
      for (std::int64_t e = begin; e < end; ++e) {
        total = hn::Add(total, hn::Load(d, edge(graph_.out_place[e], g) + lanes));
      }
      const T* mine = scores_.source + j * rows_.row();
      for (std::int64_t c = g * rows_.group(); c < (g + 1) * rows_.group(); c += lanes) {
        const V a = hn::Load(d, scores_.a_source + c);
        hn::Store(hn::MulAdd(total, a, hn::Load(d, x.row + c)), d, x.row + c);
        hn::Store(hn::MulAdd(total, hn::Load(d, mine + c), hn::Load(d, sum + c)), d, sum + c);
      }
    }
    if (is_target) add_target(j, x.row);
    if (out_.source != nullptr) unpack_node(rows_, x.row, out_.source, p_.type, j, x.plain);
  }

  /// The share of a node as a target, when targets and sources are the same nodes.
  void add_target(std::int64_t i, T* row) const {
    const D d;
    for (std::int64_t c = 0; c < rows_.row(); c += rows_.lanes) {
      V share;
      if (scores_.gat()) {
        const std::int64_t head = c / rows_.group() * rows_.lanes;
        share = hn::Mul(hn::Load(d, target_sum_ + i * rows_.per_head() + head),
                        hn::Load(d, scores_.a_target + c));
      } else {
        share = hn::Load(d, target_rows_ + i * rows_.row() + c);
      }
      hn::Store(hn::Add(hn::Load(d, row + c), share), d, row + c);
    }
  }

  const GraphProblem& p_;
  const GraphEdges& graph_;
  const GraphBackwardInputs& in_;
  const GraphBackwardResult& out_;
  const EdgeScores<T> scores_;
  const NodeRows<T>& rows_ = scores_.rows;
  Scratch<T> memory_;
  const T* grad_out_;         // [M] rows
  T* edges_;                  // [E][groups][2][lanes], by place
  T* target_sum_;             // [M][per_head]: Σ of the score gradients of a target's edges
  T* target_rows_ = nullptr;  // [M] rows, gatv2 with shared nodes
};

void graph_backward_impl(const GraphProblem& p, const GraphBackwardInputs& inputs,
                         const GraphBackwardResult& result) {
  if (p.type == Type::float64) {
    GraphBackward<double>(p, inputs, result).run();
  } else {
    GraphBackward<float>(p, inputs, result).run();
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
