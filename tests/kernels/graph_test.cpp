#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/compare.hpp"
#include "kernels/graph_reference.hpp"

namespace heed::kernels::testing {

/// The edges grouped both ways.
struct Grouped {
  explicit Grouped(const GraphCase& c) : sizes(c.problem.graph) {
    sizes.edges = c.edges();
    const auto room = [](std::int64_t n) {
      return std::vector<std::int32_t>(static_cast<std::size_t>(n));
    };
    in_start = room(sizes.targets + 1), out_start = room(sizes.sources + 1);
    in_source = in_edge = out_target = out_place = room(sizes.edges);
    group_by_target(c.source.data(), c.target.data(), sizes, in_start.data(), in_source.data(),
                    in_edge.data());
    sizes.in_start = in_start.data(), sizes.in_source = in_source.data();
    sizes.in_edge = in_edge.data();
    group_by_source(sizes, out_start.data(), out_target.data(), out_place.data());
    sizes.out_start = out_start.data(), sizes.out_target = out_target.data();
    sizes.out_place = out_place.data();
  }
  Grouped(const Grouped&) = delete;

  GraphEdges sizes;
  std::vector<std::int32_t> in_start, in_source, in_edge, out_start, out_target, out_place;
};

struct GraphResults {
  Buffer out, weights, grad_source, grad_target, grad_a_source, grad_a_target;
  bool operator==(const GraphResults&) const = default;
};

static GraphResults run(const GraphCase& c) {
  const Grouped grouped(c);
  GraphProblem p = c.problem;
  p.graph = grouped.sizes;
  p.source = c.source_rows.data();
  p.target = c.target_rows.data();
  p.a_source = c.a_source.data(), p.a_target = c.a_target.data();
  const std::int64_t N = p.graph.sources, M = p.graph.targets, E = c.edges(), S = c.size();
  // One canary past the end of each.
  GraphResults r{Buffer(p.type, M * S + 1, 5),  Buffer(p.type, E * p.heads + 1, 5),
                 Buffer(p.type, N * S + 1, 5),  Buffer(p.type, M * S + 1, 5),
                 Buffer(c.working(), S + 1, 5), Buffer(c.working(), S + 1, 5)};
  Buffer state(c.working(), M * p.heads * 2 + 1, 5);
  graph_forward(p, {.out = r.out.data(), .weights = r.weights.data(), .state = state.data()});
  graph_backward(p,
                 {.grad_out = c.grad_out.data(),
                  .grad_weights = c.grad_weights.size() > 0 ? c.grad_weights.data() : nullptr,
                  .state = state.data()},
                 {.source = r.grad_source.data(),
                  .target = c.problem.own_targets ? r.grad_target.data() : nullptr,
                  .a_source = r.grad_a_source.data(),
                  .a_target = p.score == GraphScore::gat ? r.grad_a_target.data() : nullptr});
  EXPECT_EQ(state.get(state.size() - 1), 5) << "wrote past the state";
  for (const Buffer* x :
       {&r.out, &r.weights, &r.grad_source, &r.grad_target, &r.grad_a_source, &r.grad_a_target}) {
    EXPECT_EQ(x->get(x->size() - 1), 5) << "wrote past the end";
  }
  return r;
}

static Buffer normal(Type type, std::int64_t size, std::mt19937_64& random) {
  std::normal_distribution<double> next;
  Buffer buffer(type, size);
  for (std::int64_t i = 0; i < size; ++i) buffer.set(i, next(random));
  return buffer;
}

/// Data for the edges and sizes that are already in `c`.
static void fill(GraphCase& c, std::mt19937_64& random) {
  const GraphProblem& p = c.problem;
  c.source_rows = normal(p.type, p.graph.sources * c.size(), random);
  if (c.problem.own_targets) c.target_rows = normal(p.type, p.graph.targets * c.size(), random);
  c.a_source = normal(p.type, c.size(), random);
  c.a_target = normal(p.type, c.size(), random);
  c.grad_out = normal(p.type, p.graph.targets * c.size(), random);
}

static void add_edges(GraphCase& c, std::int64_t count, std::int64_t sources, std::int64_t targets,
                      std::mt19937_64& random) {
  for (std::int64_t e = 0; e < count && sources > 0 && targets > 0; ++e) {
    c.source.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(sources)));
    c.target.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(targets)));
  }
}

static GraphCase random_graph(Type type, std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<std::int64_t> from) {
    return *(from.begin() + random() % from.size());
  };
  GraphCase c;
  GraphProblem& p = c.problem;
  p.type = type;
  p.score = random() % 2 ? GraphScore::gat : GraphScore::gatv2;
  p.heads = pick({1, 2, 3, 4, 5, 8, 9, 16, 17}), p.width = pick({1, 2, 3, 7, 8, 13, 16, 33});
  p.graph.sources = pick({0, 1, 2, 5, 30, 60});
  c.problem.own_targets = random() % 3 == 0;
  p.graph.targets = c.problem.own_targets ? pick({0, 1, 3, 20}) : p.graph.sources;
  p.negative_slope = static_cast<double>(pick({0, 2, 2, -5, 15})) / 10;
  // Nodes of the second half often have no edge at all.
  const std::int64_t part = random() % 2 ? 1 : 2;
  const std::int64_t sources = (p.graph.sources + part - 1) / part,
                     targets = (p.graph.targets + part - 1) / part;
  add_edges(c, pick({0, 1, 7, 60, 200}), sources, targets, random);
  if (random() % 3 == 0) {  // duplicates, and a hub that gets most of the edges
    const std::size_t count = c.source.size();
    for (std::size_t e = 0; e < count; ++e) {
      c.source.push_back(c.source[e]);
      c.target.push_back(c.target[0]);
    }
  }
  if (!c.problem.own_targets && random() % 2 == 0) {
    for (std::int64_t i = 0; i < sources; ++i) c.source.push_back(i), c.target.push_back(i);
  }
  if (random() % 3 == 0) p.dropout = 0.4, p.seed = random();
  fill(c, random);
  if (random() % 2 == 0) c.grad_weights = normal(type, c.edges() * p.heads, random);
  return c;
}

static void expect_values(const std::string& what, const Buffer& got,
                          const std::vector<double>& want, double allowed) {
  expect_close(
      what, static_cast<std::int64_t>(want.size()), [&](std::int64_t i) { return got.get(i); },
      [&](std::int64_t i) { return want[static_cast<std::size_t>(i)]; }, allowed);
}

static void expect_results(const GraphCase& c, const GraphResults& r, const GraphReference& want) {
  SCOPED_TRACE(c.describe());
  const double forward = tolerance(c.problem.type);
  expect_values("out", r.out, want.out, forward);
  expect_values("weights", r.weights, want.weights, forward);
  // The gradients are sums over edges, as those of dense attention over queries and keys.
  const double backward = 5 * forward;
  expect_values("grad_source", r.grad_source, want.grad_source, backward);
  if (c.problem.own_targets)
    expect_values("grad_target", r.grad_target, want.grad_target, backward);
  expect_values("grad_a_source", r.grad_a_source, want.grad_a_source, backward);
  if (c.problem.score == GraphScore::gat) {
    expect_values("grad_a_target", r.grad_a_target, want.grad_a_target, backward);
  }
}

static void check_random(Type type, int count) {
  std::mt19937_64 random(41);
  for (int n = 0; n < count; ++n) {
    const GraphCase c = random_graph(type, random);
    const GraphReference want = graph_reference<double>(c);
    for_each_target([&] { expect_results(c, run(c), want); });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Graph, MatchesThePlainFormulaOnAnyFloat32Problem) { check_random(Type::float32, 300); }
TEST(Graph, MatchesThePlainFormulaOnAnyFloat64Problem) { check_random(Type::float64, 150); }
TEST(Graph, MatchesThePlainFormulaOnAnyBfloat16Problem) { check_random(Type::bfloat16, 100); }
TEST(Graph, MatchesThePlainFormulaOnAnyFloat16Problem) { check_random(Type::float16, 100); }

TEST(Graph, GroupsEdgesInTheCallersOrder) {
  GraphCase c;
  c.problem.graph.sources = c.problem.graph.targets = 4;
  c.source = {3, 0, 3, 1, 3, 0};
  c.target = {2, 0, 2, 0, 3, 2};
  const Grouped g(c);
  using ::testing::ElementsAre;
  EXPECT_THAT(g.in_start, ElementsAre(0, 2, 2, 5, 6));
  EXPECT_THAT(g.in_source, ElementsAre(0, 1, 3, 3, 0, 3));
  EXPECT_THAT(g.in_edge, ElementsAre(1, 3, 0, 2, 5, 4));
  EXPECT_THAT(g.out_start, ElementsAre(0, 2, 3, 3, 6));
  EXPECT_THAT(g.out_target, ElementsAre(0, 2, 0, 2, 2, 3));
  EXPECT_THAT(g.out_place, ElementsAre(0, 4, 1, 2, 3, 5));
}

TEST(Graph, NamesAnEdgeOutOfRange) {
  const auto message = [](std::vector<std::int64_t> source, std::vector<std::int64_t> target) {
    GraphCase c;
    c.problem.graph.sources = 5, c.problem.graph.targets = 3;
    c.source = std::move(source), c.target = std::move(target);
    try {
      const Grouped g(c);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message({0, 4}, {0, 2}), "no error");
  EXPECT_EQ(message({0, 5}, {0, 2}),
            "graph: edge 1 has source 5; there are 5 source nodes, numbered from 0");
  EXPECT_EQ(message({0, 4, 4}, {0, -1, 7}),
            "graph: edge 1 has target -1; there are 3 target nodes, numbered from 0");
}

TEST(Graph, RefusesProblemsWithoutMeaning) {
  const auto refuses = [](const GraphProblem& p) {
    EXPECT_THROW(graph_forward(p, {}), std::invalid_argument);
    EXPECT_THROW(graph_backward(p, {}, {}), std::invalid_argument);
  };
  refuses({.heads = -1});
  refuses({.width = -1});
  refuses({.negative_slope = std::numeric_limits<double>::infinity()});
  refuses({.dropout = 1});
  refuses({.graph = {.sources = 2, .targets = 3}});
}

/// 8 heads of 8, some thousand edges and one target that gets a third of them.
static GraphCase large_graph(GraphScore score, std::mt19937_64& random) {
  GraphCase c;
  c.problem.score = score;
  c.problem.heads = 8, c.problem.width = 8;
  c.problem.graph.sources = c.problem.graph.targets = 2000;
  add_edges(c, 12'000, 2000, 2000, random);
  for (std::size_t e = 0; e < c.target.size(); e += 3) c.target[e] = 77;
  fill(c, random);
  c.grad_weights = normal(Type::float32, c.edges() * 8, random);
  return c;
}

TEST(Graph, SameBitsAtAnyThreadCount) {
  std::mt19937_64 random(43);
  for (const GraphScore score : {GraphScore::gat, GraphScore::gatv2}) {
    for (const double dropout : {0.0, 0.3}) {
      GraphCase c = large_graph(score, random);
      // Enough edges that the grouping, too, is shared between threads.
      add_edges(c, 40'000, 2000, 2000, random);
      c.grad_weights = normal(Type::float32, c.edges() * 8, random);
      c.problem.dropout = dropout;
      for_each_target([&] {
        const int threads = omp_get_max_threads();
        omp_set_num_threads(1);
        const GraphResults one = run(c);
        for (const int many : {2, 3}) {
          omp_set_num_threads(many);
          EXPECT_TRUE(run(c) == one) << c.describe() << ", " << many << " threads";
        }
        omp_set_num_threads(threads);
      });
    }
  }
}

TEST(Graph, ErrorIsAtMostTwiceThePlainFormulas) {
  std::mt19937_64 random(47);
  for (const GraphScore score : {GraphScore::gat, GraphScore::gatv2}) {
    const GraphCase c = large_graph(score, random);
    const GraphReference exact = graph_reference<double>(c), plain = graph_reference<float>(c);
    for_each_target([&] {
      SCOPED_TRACE(c.describe());
      const GraphResults r = run(c);
      const auto check = [&](const char* name, const Buffer& got, const std::vector<double>& want,
                             const std::vector<double>& simple) {
        Errors ours, theirs;
        for (std::size_t i = 0; i < want.size(); ++i) {
          ours.add(got.get(static_cast<std::int64_t>(i)), want[i]);
          theirs.add(simple[i], want[i]);
        }
        expect_rule_10(name, ours, theirs, 0x1p-23);
      };
      check("out", r.out, exact.out, plain.out);
      check("grad_source", r.grad_source, exact.grad_source, plain.grad_source);
    });
  }
}

TEST(Graph, ANodeWithoutEdgesReachesNothing) {
  std::mt19937_64 random(53);
  int poisoned = 0;
  for (int n = 0; n < 150; ++n) {
    GraphCase c = random_graph(Type::float32, random);
    const GraphReference want = graph_reference<double>(c);
    constexpr double kPoison[] = {std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<double>::infinity()};
    const auto poison = [&](Buffer& rows, std::int64_t node) {
      for (std::int64_t i = 0; i < c.size(); ++i) rows.set(node * c.size() + i, kPoison[i % 2]);
      ++poisoned;
    };
    const auto without = [](std::int64_t nodes, const auto&... ends) {
      std::vector<std::int64_t> found;
      for (std::int64_t i = 0; i < nodes; ++i) {
        if ((std::ranges::count(ends, i) + ...) == 0) found.push_back(i);
      }
      return found;
    };
    const std::int64_t N = c.problem.graph.sources, M = c.problem.graph.targets;
    for (const std::int64_t i :
         c.problem.own_targets ? without(N, c.source) : without(N, c.source, c.target)) {
      poison(c.source_rows, i);
    }
    for (const std::int64_t i : without(M, c.target)) {
      if (c.problem.own_targets) poison(c.target_rows, i);
      poison(c.grad_out, i);  // a gradient that arrives at a target without edges goes nowhere
    }
    for_each_target([&] { expect_results(c, run(c), want); });
  }
  EXPECT_GT(poisoned, 1000);
}

TEST(Graph, SkipsTheVectorsWhereThereIsNoEdge) {
  // Not 0 · NaN: the gradient of a node without edges is 0 whatever the parameters are.
  std::mt19937_64 random(59);
  GraphCase c;
  c.problem.heads = 2, c.problem.width = 3;
  c.problem.graph.sources = c.problem.graph.targets = 4;
  c.source = {0}, c.target = {1};
  fill(c, random);
  for (Buffer* a : {&c.a_source, &c.a_target}) {
    a->set(0, std::numeric_limits<double>::quiet_NaN());
  }
  for_each_target([&] {
    const GraphResults r = run(c);
    for (std::int64_t i = 2 * c.size(); i < 4 * c.size(); ++i) {
      EXPECT_EQ(r.grad_source.get(i), 0);
      EXPECT_EQ(r.out.get(i), 0);
    }
    EXPECT_TRUE(std::isnan(r.weights.get(0)));
  });
}

TEST(Graph, ScoresMayBeAsLargeAsTheTypeAllows) {
  // exp of the scores would overflow; the maximum is taken out first.
  std::mt19937_64 random(61);
  for (const GraphScore score : {GraphScore::gat, GraphScore::gatv2}) {
    GraphCase c = large_graph(score, random);
    for (std::int64_t i = 0; i < c.a_source.size(); ++i) {
      c.a_source.set(i, 100 * c.a_source.get(i));
    }
    for_each_target([&] {
      const GraphResults r = run(c);
      std::vector<double> sums(2000 * 8, 0);
      for (std::int64_t i = 0; i < c.edges() * 8; ++i) {
        sums[static_cast<std::size_t>(c.target[static_cast<std::size_t>(i / 8)] * 8 + i % 8)] +=
            r.weights.get(i);
      }
      for (const double sum : sums) EXPECT_TRUE(sum == 0 || std::abs(sum - 1) < 1e-5) << sum;
    });
  }
}

}  // namespace heed::kernels::testing
