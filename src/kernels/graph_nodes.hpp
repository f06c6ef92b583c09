#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heed/kernels/graph.hpp"

namespace heed::kernels {

struct NodeRange {
  std::int64_t begin, end;
};

/// Cuts nodes into ranges of about equal work, `start` being where the edges of each begin. The
/// cuts depend on the graph alone, so sums over a range have the same bits at any thread count.
inline std::vector<NodeRange> share_nodes(const std::int32_t* start, std::int64_t nodes) {
  constexpr std::int64_t kLeast = 1024, kRanges = 256;
  if (nodes == 0) return {};
  const std::int64_t limit = std::max(kLeast, (start[nodes] + nodes) / kRanges);
  std::vector<NodeRange> ranges;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < nodes; ++i) {
    const std::int64_t work = start[i + 1] - start[begin] + (i + 1 - begin);
    if (work < limit && i + 1 < nodes) continue;
    ranges.push_back({begin, i + 1});
    begin = i + 1;
  }
  return ranges;
}

inline std::int64_t largest_degree(const std::int32_t* start, std::int64_t nodes) {
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < nodes; ++i) {
    largest = std::max(largest, std::int64_t{start[i + 1]} - start[i]);
  }
  return largest;
}

/// Throws std::invalid_argument, naming the field and its value, for a problem that has no meaning.
void check_graph_problem(const GraphProblem& problem);

}  // namespace heed::kernels
