#pragma once
#include <array>
#include <optional>
#include <string>

#include "heed/attention/attend.hpp"
#include "heed/attention/tensor.hpp"

namespace heed {

/// The edges of a graph, grouped by target and by source, for many calls on one graph.
///
/// Grouping costs a good part of a call, so a graph that does not change is worth keeping.
struct Graph {
  Graph() = default;  // to be filled by hand
  /// edges [2, E] of int64: row 0 the sources, row 1 the targets, numbered from 0. Duplicates and
  /// self-loops stay as given. InputError names an edge out of range.
  Graph(const Tensor& edges, std::int64_t nodes) : Graph(edges, nodes, nodes) {}
  Graph(const Tensor& edges, std::int64_t of_sources, std::int64_t of_targets);

  /// Without the grouping by source, which only gradients need; `complete` adds it.
  static Graph by_target(const Tensor& edges, std::int64_t sources, std::int64_t targets);
  void complete();

  std::int64_t edges() const { return in_source.size(0); }

  std::int64_t sources = 0, targets = 0;
  // Of int32, on the CPU whatever the device of the edges; kernels::GraphEdges says what they hold.
  Tensor in_start, in_source, in_edge;
  Tensor out_start, out_target, out_place;
};

struct GraphOptions {
  std::string score = "gat";          // or gatv2
  Tensor a_source, a_target;          // [H, D], gat
  Tensor a;                           // [H, D], gatv2
  double negative_slope = 0.2;        // of the LeakyReLU
  Tensor target_features;             // [M, H, D]; undefined: the features
  double dropout_p = 0;               // of the weights
  std::optional<std::uint64_t> seed;  // none: drawn from torch's generator
  Kernel kernel = Kernel::automatic;  // automatic, fused or reference
};

struct GraphResult {
  Tensor output;   // [M, H, D]; 0 for a target without edges
  Tensor weights;  // [E, H] in the order of the given edges, before dropout
};

/// Attention of each target over the sources of its in-edges; projections are the caller's.
///
/// features [N, H, D] are the sources' rows. For edge j → i, s = features, t = target_features:
/// gat scores LeakyReLU(a_source · s_j + a_target · t_i), gatv2 a · LeakyReLU(s_j + t_i); the
/// softmax is over the in-edges of i, the output Σ_j weight_ij s_j. Gradients flow from both
/// results to features, target_features and the vectors. A node without edges reaches nothing, NaN
/// or not.
GraphResult graph_attend(const Tensor& features, const Tensor& edges, const GraphOptions& options);
GraphResult graph_attend(const Tensor& features, const Graph& graph, const GraphOptions& options);

/// The two passes of the fused kernel without torch's graph, for those who bring their own.
struct GraphCall {
  Tensor features, target_features;  // the second may be undefined
  Tensor a_source, a_target;         // gatv2's one vector is a_source
  bool gatv2 = false;
  double negative_slope = 0.2, dropout_p = 0;
  std::uint64_t seed = 0;
  Graph graph{};

  /// InputError names the argument, what it is and what it should be.
  void check() const;

  struct Forward {
    Tensor output, weights, state;
  };
  Forward forward() const;

  /// Gradients of features, target_features, a_source and a_target, undefined where not wanted.
  /// grad_weights may be undefined. The graph must be complete.
  std::array<Tensor, 4> backward(const Tensor& state, const Tensor& grad_output,
                                 const Tensor& grad_weights, std::array<bool, 4> wanted) const;
};

}  // namespace heed
