// graph_attend: the kernel against plain tensor operations, gradients, and messages.
#include "heed/attention/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attention/gradcheck.hpp"
#include "heed/base/error.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

using testing::HasSubstr;

/// A random call: operands that may have a gradient, then the rest.
struct GraphTestCall {
  std::vector<Tensor> leaves;  // features, a_source or a, then a_target, then target_features
  Tensor edges;
  GraphOptions options;

  explicit GraphTestCall(std::uint64_t seed, torch::ScalarType type = torch::kFloat64) {
    Random random(seed);
    torch::manual_seed(seed);
    const auto pick = [&](std::initializer_list<std::int64_t> from) {
      return *(from.begin() + random.below(from.size()));
    };
    const std::int64_t N = pick({1, 2, 5, 11}), M = pick({1, 4, 9}), H = pick({1, 2, 3, 8}),
                       D = pick({1, 3, 8}), E = pick({0, 1, 6, 30});
    const bool own = random.chance(0.4);
    options.score = random.chance(0.5) ? "gat" : "gatv2";
    if (random.chance(0.3)) options.dropout_p = 0.4, options.seed = seed;
    options.negative_slope = static_cast<double>(pick({0, 2, 13})) / 10;
    edges = torch::stack({torch::randint(N, {E}), torch::randint(own ? M : N, {E})});
    // Strided on purpose: the kernel wants contiguous rows.
    leaves.push_back(torch::randn({H, N, D}, type).transpose(0, 1));
    leaves.push_back(torch::randn({H, D}, type));
    if (options.score == "gat") leaves.push_back(torch::randn({H, D}, type));
    if (own) leaves.push_back(torch::randn({M, H, D}, type));
  }

  GraphResult run(const std::vector<Tensor>& x, Kernel kernel) const {
    GraphOptions with = options;
    std::size_t next = 1;
    (options.score == "gat" ? with.a_source : with.a) = x[next++];
    if (options.score == "gat") with.a_target = x[next++];
    if (next < x.size()) with.target_features = x[next];
    with.kernel = kernel;
    return graph_attend(x[0], edges, with);
  }

  /// Both results, and the gradients of a random function of both.
  std::vector<Tensor> all(Kernel kernel) const {
    std::vector<Tensor> x;
    for (const Tensor& leaf : leaves) x.push_back(leaf.detach().clone().set_requires_grad(true));
    const GraphResult r = run(x, kernel);
    torch::manual_seed(5);
    ((r.output * torch::randn_like(r.output)).sum() +
     (r.weights * torch::randn_like(r.weights)).sum())
        .backward();
    std::vector<Tensor> results = {r.output.detach(), r.weights.detach()};
    for (const Tensor& leaf : x) {
      results.push_back(leaf.grad().defined() ? leaf.grad() : torch::zeros_like(leaf));
    }
    return results;
  }
};

double largest_gap(const Tensor& a, const Tensor& b) {
  return a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

TEST(GraphAttend, EqualsTheReferenceForwardAndBackward) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const GraphTestCall call(seed);
    const auto fused = call.all(Kernel::fused), plain = call.all(Kernel::reference);
    for (std::size_t i = 0; i < fused.size(); ++i) {
      EXPECT_EQ(fused[i].sizes(), plain[i].sizes());
      EXPECT_LT(largest_gap(fused[i], plain[i]), 1e-12) << "seed " << seed << ", result " << i;
    }
  }
}

TEST(GraphAttend, GradientsEqualCentralDifferences) {
  for (std::uint64_t seed = 300; seed < 306; ++seed) {
    GraphTestCall call(seed);
    if (call.edges.size(1) == 0) continue;
    for (Tensor& leaf : call.leaves) leaf = leaf.contiguous();
    for (const Kernel kernel : {Kernel::fused, Kernel::reference}) {
      const auto f = [&](const std::vector<Tensor>& x) {
        const GraphResult r = call.run(x, kernel);
        return torch::cat({r.output.flatten(), r.weights.flatten()});
      };
      check_gradients(f, call.leaves, fmt::format("seed {}", seed));
    }
  }
}

TEST(GraphAttend, AGradientAtOneResultAloneIsEnough) {
  for (const Kernel kernel : {Kernel::fused, Kernel::reference}) {
    Tensor x = torch::randn({3, 2, 4}, torch::kFloat64).set_requires_grad(true);
    const Tensor a = torch::ones({2, 4}, torch::kFloat64);
    const Tensor edges = torch::tensor({{0, 1, 2}, {0, 0, 1}});
    graph_attend(x, edges, {.score = "gatv2", .a = a, .kernel = kernel})
        .weights.select(0, 0)
        .sum()
        .backward();
    EXPECT_GT(x.grad().abs().sum().item<double>(), 0);
    EXPECT_EQ(x.grad()[2].abs().sum().item<double>(), 0);
  }
}

TEST(GraphAttend, APreparedGraphGivesTheSameBits) {
  const GraphTestCall call(7);
  const Tensor& x = call.leaves[0];
  const std::int64_t N = x.size(0);
  const Tensor a = torch::randn_like(x[0].contiguous());
  const Tensor edges = torch::randint(N, {2, 40});
  const GraphOptions options{.score = "gatv2", .a = a};
  const GraphResult one = graph_attend(x, edges, options),
                    two = graph_attend(x, Graph(edges, N), options);
  EXPECT_TRUE(torch::equal(one.output, two.output) && torch::equal(one.weights, two.weights));
  GraphOptions plain = options;
  plain.kernel = Kernel::reference;
  EXPECT_TRUE(torch::equal(graph_attend(x, edges, plain).weights,
                           graph_attend(x, Graph(edges, N), plain).weights));
}

TEST(GraphAttend, HalfTypesKeepTheirType) {
  for (const auto type : {torch::kBFloat16, torch::kFloat16}) {
    const GraphTestCall call(21, type);
    const auto fused = call.all(Kernel::fused), plain = call.all(Kernel::reference);
    for (std::size_t i = 0; i < fused.size(); ++i) {
      EXPECT_EQ(fused[i].scalar_type(), type);
      const double largest = fused[i].numel() ? fused[i].abs().max().item<double>() : 0;
      EXPECT_LE(largest_gap(fused[i], plain[i]),
                (type == torch::kFloat16 ? 0x1p-9 : 0x1p-6) * std::max(1.0, largest));
    }
  }
}

TEST(GraphAttend, HasNoSecondDerivativeAndSaysSo) {
  const GraphTestCall call(9);
  std::vector<Tensor> x;
  for (const Tensor& leaf : call.leaves) x.push_back(leaf.detach().clone().set_requires_grad(true));
  const Tensor out = call.run(x, Kernel::fused).output;
  try {
    torch::autograd::grad({out.square().sum()}, {x[0]}, {}, true, /*create_graph=*/true);
    FAIL() << "no error";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("no second derivative; kernel='reference' has"));
  }
}

struct GraphErrors : testing::Test {
  Tensor x = torch::randn({5, 2, 3}), a = torch::randn({2, 3});
  Tensor edges = torch::tensor({{0, 1}, {2, 3}});

  static std::string of(const Tensor& features, const Tensor& at, const GraphOptions& options) {
    try {
      graph_attend(features, at, options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(GraphErrors, NameTheArgumentAndItsShape) {
  const GraphOptions good{.a_source = a, .a_target = a};
  EXPECT_EQ(of(x, edges, good), "no error");
  EXPECT_THAT(of(x[0], edges, good), HasSubstr("features is 2×3; needed is nodes×heads×width"));
  EXPECT_THAT(of(x, edges[0], good), HasSubstr("edges is 2; needed is 2×E"));
  EXPECT_THAT(of(x, edges.to(torch::kInt32), good), HasSubstr("edges has type Int"));
  EXPECT_THAT(of(x, edges + 3, good),
              HasSubstr("edge 0 has target 5; there are 5 target nodes, numbered from 0 (edges is "
                        "2×2)"));
  EXPECT_THAT(of(x, edges - 1, good), HasSubstr("edge 0 has source -1"));
  EXPECT_THAT(of(x, edges, {.a_source = a.t(), .a_target = a}),
              HasSubstr("a_source is 3×2, features is 5×2×3; needed is heads×width = 2×3"));
  EXPECT_THAT(of(x, edges, {.a_source = a}), HasSubstr("a_target is missing"));
  EXPECT_THAT(of(x, edges, {.a_source = a, .a_target = a.to(torch::kFloat64)}),
              HasSubstr("a_target has type Double, features has type Float"));
  EXPECT_THAT(of(x.to(torch::kInt64), edges, good), HasSubstr("a floating-point type is needed"));
  EXPECT_THAT(of(x, edges, {.score = "gatv2", .a_source = a}), HasSubstr("has one vector, a"));
  EXPECT_THAT(of(x, edges, {.a = a}), HasSubstr("has two vectors"));
  EXPECT_THAT(of(x, edges, {.score = "gat2"}), HasSubstr("score is 'gat2'; did you mean"));
  EXPECT_THAT(of(x, edges, {.score = "gatv2", .a = a, .target_features = x.narrow(2, 0, 2)}),
              HasSubstr("target_features is 5×2×2, features is 5×2×3"));
  EXPECT_THAT(of(x, edges, {.score = "gatv2", .a = a, .dropout_p = 1}),
              HasSubstr("dropout_p is 1; needed is 0 ≤ p < 1"));
  EXPECT_THAT(of(x, edges, {.score = "gatv2", .a = a, .negative_slope = NAN}),
              HasSubstr("negative_slope is nan"));
  EXPECT_THAT(of(x, edges.to(torch::kMeta), good),
              HasSubstr("edges is on meta, features is on cpu"));
  EXPECT_THAT(of(x, edges, {.score = "gatv2", .a = a, .kernel = Kernel::unfused}),
              HasSubstr("kernel 'unfused' does not exist"));
}

TEST_F(GraphErrors, NameAGraphOfAnotherSize) {
  try {
    graph_attend(x, Graph(edges, 6), {.score = "gatv2", .a = a});
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("6 source and 6 target nodes, features is 5×2×3"));
  }
  EXPECT_THROW(Graph(edges, -1), InputError);
}

}  // namespace
}  // namespace heed
