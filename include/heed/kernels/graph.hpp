#pragma once
#include <cstdint>

#include "heed/kernels/attention.hpp"

/// Attention over the edges of a graph, on raw pointers: score, softmax over the in-edges of each
/// target, weighted sum of the sources, in one pass; and its backward pass.
///
/// Shape letters: N sources, M targets, E edges, H heads, D width. Every array is contiguous.
namespace heed::kernels {

/// The edges grouped both ways. At most 2^31 - 1 nodes on a side and as many edges. Duplicates and
/// self-loops are edges like any other; a node may have none.
struct GraphEdges {
  std::int64_t sources = 0, targets = 0, edges = 0;
  // By target, in the caller's order within each.
  const std::int32_t* in_start = nullptr;   // [M + 1]: target i has places in_start[i] .. [i + 1]
  const std::int32_t* in_source = nullptr;  // [E]
  const std::int32_t* in_edge = nullptr;    // [E], the edge's number in the caller's list
  // By source, in the order of the places above; only the backward pass needs these.
  const std::int32_t* out_start = nullptr;   // [N + 1]
  const std::int32_t* out_target = nullptr;  // [E]
  const std::int32_t* out_place = nullptr;   // [E], the edge's place in the grouping by target
};

/// Fills the three arrays by target from `source` and `target` [E]. A stable counting sort: the
/// result is the same at any thread count. Throws std::invalid_argument that names the first edge
/// out of range.
void group_by_target(const std::int64_t* source, const std::int64_t* target,
                     const GraphEdges& sizes, std::int32_t* in_start, std::int32_t* in_source,
                     std::int32_t* in_edge);

/// Fills the three arrays by source from those by target.
void group_by_source(const GraphEdges& graph, std::int32_t* out_start, std::int32_t* out_target,
                     std::int32_t* out_place);

/// The score of edge j → i, a head at a time, s and t being the rows of source and target:
/// gat    LeakyReLU(a_source · s_j + a_target · t_i), Velickovic et al. 2018
/// gatv2  a_source · LeakyReLU(s_j + t_i), Brody et al. 2022
enum class GraphScore : std::uint8_t { gat, gatv2 };

/// Accumulation, state and the gradients of `a_source` and `a_target` are in the working type:
/// double for float64, float for the others. The rest is of the problem's type.
struct GraphProblem {
  Type type = Type::float32;
  GraphScore score = GraphScore::gat;
  std::int64_t heads = 0, width = 0;
  GraphEdges graph{};
  const void* source = nullptr;    // [N, H, D]
  bool own_targets = false;        // false: the sources are the targets, N = M
  const void* target = nullptr;    // [M, H, D], with own_targets
  const void* a_source = nullptr;  // [H, D]
  const void* a_target = nullptr;  // [H, D], gat only
  double negative_slope = 0.2;
  double dropout = 0;  // share of weights dropped; kept ones are divided by 1 - dropout
  std::uint64_t seed = 0;
};

/// Null: not wanted.
struct GraphForwardResult {
  void* out = nullptr;      // [M, H, D]: Σ_j weight_ij s_j; 0 for a target without edges
  void* weights = nullptr;  // [E, H] in the caller's order, before dropout
  void* state = nullptr;    // [M, 2, H], working type: what `graph_backward` needs of each target
};

/// What a node without edges holds, NaN included, reaches nothing. Same bits at any thread count.
///
/// Edge e and head h are dropped as `dropout_keep` says of query e and key h.
void graph_forward(const GraphProblem& problem, const GraphForwardResult& result);

struct GraphBackwardInputs {
  const void* grad_out = nullptr;      // [M, H, D]
  const void* grad_weights = nullptr;  // [E, H] in the caller's order; null: none
  const void* state = nullptr;
};

/// Gradients are overwritten, not added to. Null: not wanted.
struct GraphBackwardResult {
  void* source = nullptr;    // [N, H, D]; holds the targets' share too when they are the sources
  void* target = nullptr;    // [M, H, D], with own_targets
  void* a_source = nullptr;  // [H, D], working type
  void* a_target = nullptr;  // [H, D], working type, gat only
};

/// Needs the grouping by source. No atomic sums: same bits at any thread count.
void graph_backward(const GraphProblem& problem, const GraphBackwardInputs& inputs,
                    const GraphBackwardResult& result);

}  // namespace heed::kernels
