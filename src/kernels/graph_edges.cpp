// Grouping edges by node: a counting sort. Each thread counts and places a run of the edges; as the
// sort is stable, its result does not depend on how many runs there are.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/graph_nodes.hpp"

namespace heed::kernels {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::invalid_argument("graph: " + what); }

void check_sizes(const GraphEdges& g) {
  for (const auto& [name, size] :
       {std::pair{"sources", g.sources}, {"targets", g.targets}, {"edges", g.edges}}) {
    if (size < 0 || size > std::numeric_limits<std::int32_t>::max()) {
      fail(std::string(name) + " are " + std::to_string(size) + "; at most 2147483647 can be told");
    }
  }
}

/// start[k + 1] = how many of 0 .. keys - 1 are at most k; place(n, at) for each n, in the order of
/// key(n) and then of n.
template <class Key, class Place>
void counting_sort(std::int64_t count, std::int64_t keys, std::int32_t* start, const Key& key,
                   const Place& place) {
  constexpr std::int64_t kWorthAThread = 16384;
  const auto runs = static_cast<int>(
      std::clamp<std::int64_t>(count / std::max(kWorthAThread, keys), 1, omp_get_max_threads()));
  const auto width = static_cast<std::size_t>(keys);
  std::vector<std::int32_t> counts(width * static_cast<std::size_t>(runs), 0);
  const auto begin = [&](int run) { return count * run / runs; };
#pragma omp parallel for num_threads(runs) schedule(static, 1) if (runs > 1)
  for (int run = 0; run < runs; ++run) {
    std::int32_t* mine = counts.data() + width * static_cast<std::size_t>(run);
    for (std::int64_t n = begin(run); n < begin(run + 1); ++n) ++mine[key(n)];
  }
  std::int32_t at = 0;
  for (std::size_t k = 0; k < width; ++k) {
    start[k] = at;
    for (std::size_t run = 0; run < static_cast<std::size_t>(runs); ++run) {
      std::int32_t& mine = counts[width * run + k];
      const std::int32_t first = at;
      at += mine;
      mine = first;
    }
  }
  start[width] = at;
#pragma omp parallel for num_threads(runs) schedule(static, 1) if (runs > 1)
  for (int run = 0; run < runs; ++run) {
    std::int32_t* mine = counts.data() + width * static_cast<std::size_t>(run);
    for (std::int64_t n = begin(run); n < begin(run + 1); ++n) place(n, mine[key(n)]++);
  }
}

void check_range(const char* name, const std::int64_t* node, std::int64_t edges,
                 std::int64_t nodes) {
  std::uint64_t largest = 0;  // a negative number is a large one
  for (std::int64_t e = 0; e < edges; ++e) {
    largest = std::max(largest, static_cast<std::uint64_t>(node[e]));
  }
  if (edges == 0 || largest < static_cast<std::uint64_t>(nodes)) return;
  std::int64_t e = 0;
  while (static_cast<std::uint64_t>(node[e]) < static_cast<std::uint64_t>(nodes)) ++e;
  fail("edge " + std::to_string(e) + " has " + name + " " + std::to_string(node[e]) +
       "; there are " + std::to_string(nodes) + " " + name + " nodes, numbered from 0");
}

}  // namespace

void group_by_target(const std::int64_t* source, const std::int64_t* target,
                     const GraphEdges& sizes, std::int32_t* in_start, std::int32_t* in_source,
                     std::int32_t* in_edge) {
  check_sizes(sizes);
  check_range("source", source, sizes.edges, sizes.sources);
  check_range("target", target, sizes.edges, sizes.targets);
  counting_sort(
      sizes.edges, sizes.targets, in_start, [=](std::int64_t e) { return target[e]; },
      [=](std::int64_t e, std::int32_t at) {
        in_source[at] = static_cast<std::int32_t>(source[e]);
        in_edge[at] = static_cast<std::int32_t>(e);
      });
}

void group_by_source(const GraphEdges& graph, std::int32_t* out_start, std::int32_t* out_target,
                     std::int32_t* out_place) {
  check_sizes(graph);
  std::vector<std::int32_t> target(static_cast<std::size_t>(graph.edges));
  for (std::int64_t i = 0; i < graph.targets; ++i) {
    std::fill(target.begin() + graph.in_start[i], target.begin() + graph.in_start[i + 1],
              static_cast<std::int32_t>(i));
  }
  counting_sort(
      graph.edges, graph.sources, out_start,
      [&](std::int64_t place) { return graph.in_source[place]; },
      [&](std::int64_t place, std::int32_t at) {
        out_target[at] = target[static_cast<std::size_t>(place)];
        out_place[at] = static_cast<std::int32_t>(place);
      });
}

void check_graph_problem(const GraphProblem& p) {
  check_sizes(p.graph);
  if (p.heads < 0) fail("heads are " + std::to_string(p.heads) + ", below 0");
  if (p.width < 0) fail("width is " + std::to_string(p.width) + ", below 0");
  if (!p.own_targets && p.graph.sources != p.graph.targets) {
    fail(std::to_string(p.graph.sources) + " sources and " + std::to_string(p.graph.targets) +
         " targets; they can be the same nodes only if they are as many");
  }
  if (!std::isfinite(p.negative_slope)) {
    fail("negative_slope is " + std::to_string(p.negative_slope) + "; it must be finite");
  }
  if (!(p.dropout >= 0 && p.dropout < 1)) {
    fail("dropout is " + std::to_string(p.dropout) + "; it must be 0 or more, and below 1");
  }
}

}  // namespace heed::kernels
