// The fused kernel behind attend: the same numbers as the reference, and rule 8's bits.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "heed/attention/attend.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

double gap(const Tensor& a, const Tensor& b) {
  return a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

/// A random call: every option may be there.
struct Call {
  Tensor q, k, v, bias, sink;
  AttendOptions options;

  explicit Call(std::uint64_t seed) {
    Random random(seed);
    torch::manual_seed(seed);
    const auto pick = [&](std::initializer_list<std::int64_t> from) {
      return *(from.begin() + random.below(from.size()));
    };
    const std::int64_t B = pick({1, 2, 3}), G = pick({1, 2}), H = G * pick({1, 3}),
                       Q = pick({0, 1, 2, 7, 17, 65}), K = pick({0, 1, 3, 16, 33, 130}),
                       D = pick({1, 4, 8, 33}), V = pick({1, 5, 8, 40});
    const auto f64 = torch::kFloat64;
    q = torch::randn({B, Q, H, D}, f64).transpose(1, 2);  // strided
    k = torch::randn({B, G, K, D}, f64);
    v = torch::randn({B, G, K, V}, f64);
    if (random.chance(0.4)) options.mask = torch::rand({B, 1, Q, K}) > 0.4;
    if (random.chance(0.4))
      bias = torch::randn({random.chance(0.5) ? H : 1, Q, random.chance(0.5) ? K : 1}, f64);
    if (random.chance(0.3)) sink = torch::randn({H}, f64);
    if (random.chance(0.3)) options.alibi = torch::rand({H});
    if (random.chance(0.4)) options.lengths = torch::randint(K + 1, {B});
    if (random.chance(0.3))
      options.causal = random.chance(0.5) ? Causal::bottom_right() : Causal::at(pick({-2, 0, 3}));
    if (random.chance(0.3)) options.window = {{pick({-1, 0, 4}), pick({-1, 1, 9})}};
    if (random.chance(0.3)) options.softcap = 3.0;
    if (random.chance(0.3)) options.dropout_p = 0.3, options.seed = seed;
    options.score = random.chance(0.5) ? "scaled-dot" : "dot";
  }

  std::vector<Tensor> run(Kernel kernel, const Tensor& grad) const {
    std::vector<Tensor> leaves;
    AttendOptions with = options;
    for (const Tensor& x : {q, k, v, bias, sink}) {
      leaves.push_back(x.defined() ? x.detach().clone().set_requires_grad(true) : x);
    }
    with.bias = leaves[3], with.sink = leaves[4], with.kernel = kernel;
    const Tensor out = attend(leaves[0], leaves[1], leaves[2], with).output;
    out.backward(grad);
    std::vector<Tensor> results = {out.detach()};
    for (const Tensor& x : leaves) {
      if (x.defined()) results.push_back(x.grad().defined() ? x.grad() : torch::zeros_like(x));
    }
    return results;
  }
};

TEST(Fused, EqualsTheReferenceForwardAndBackward) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Call call(seed);
    const Tensor grad = torch::randn(
        {call.q.size(0), call.q.size(1), call.q.size(2), call.v.size(3)}, torch::kFloat64);
    const auto fused = call.run(Kernel::fused, grad), plain = call.run(Kernel::reference, grad);
    ASSERT_EQ(fused.size(), plain.size());
    for (std::size_t i = 0; i < fused.size(); ++i) {
      EXPECT_LT(gap(fused[i], plain[i]), 1e-10) << "seed " << seed << ", result " << i;
    }
  }
}

TEST(Fused, ReductionsEqualTheReferences) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Call call(seed);
    if (call.q.size(2) == 0) continue;
    call.options.want = {.weights = true,
                         .scores = true,
                         .lse = true,
                         .entropy = true,
                         .received = true,
                         .rows = {0}};
    call.options.bias = call.bias, call.options.sink = call.sink;
    call.options.kernel = Kernel::fused;
    const AttendResult a = attend(call.q, call.k, call.v, call.options);
    call.options.kernel = Kernel::reference;
    const AttendResult b = attend(call.q, call.k, call.v, call.options);
    EXPECT_LT(gap(a.weights, b.weights), 1e-12) << seed;
    EXPECT_LT(gap(a.scores, b.scores), 1e-12) << seed;
    EXPECT_LT(gap(a.entropy, b.entropy), 1e-5) << seed;
    EXPECT_LT(gap(a.received, b.received), 1e-4) << seed;
    EXPECT_LT(gap(a.rows, b.rows), 1e-12) << seed;
    EXPECT_TRUE(torch::equal(torch::isinf(a.lse), torch::isinf(b.lse))) << seed;
    EXPECT_LT(gap(torch::nan_to_num(a.lse, 0, 0, 0), torch::nan_to_num(b.lse, 0, 0, 0)), 1e-4)
        << seed;
  }
}

TEST(Fused, SameBitsAtAnyThreadCountAndForAnEntryAlone) {
  const int threads = at::get_num_threads();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Call call(seed);
    call.options.dropout_p = 0;  // rule 8 is with dropout off
    const Tensor grad = torch::randn(
        {call.q.size(0), call.q.size(1), call.q.size(2), call.v.size(3)}, torch::kFloat64);
    at::set_num_threads(1);
    const auto one = call.run(Kernel::fused, grad);
    at::set_num_threads(2);
    const auto two = call.run(Kernel::fused, grad);
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_TRUE(torch::equal(one[i], two[i])) << seed << " " << i;
    Call alone = call;  // the last entry
    const std::int64_t b = call.q.size(0) - 1;
    for (Tensor* x : {&alone.q, &alone.k, &alone.v}) *x = x->narrow(0, b, 1);
    if (alone.options.mask.defined()) alone.options.mask = alone.options.mask.narrow(0, b, 1);
    if (alone.options.lengths.defined())
      alone.options.lengths = alone.options.lengths.narrow(0, b, 1);
    const auto single = alone.run(Kernel::fused, grad.narrow(0, b, 1));
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_TRUE(torch::equal(one[i].narrow(0, b, 1), single[i])) << seed << " " << i;
  }
  at::set_num_threads(threads);
}

TEST(Fused, WeightsThatNeedAGradientHaveOne) {
  const Tensor q = torch::randn({1, 2, 3, 4}, torch::kFloat64).set_requires_grad(true);
  const AttendResult plain = attend(q, q, q), r = attend(q, q, q, {.want = {.weights = true}});
  EXPECT_TRUE(torch::equal(plain.output, r.output));
  r.weights.square().sum().backward();
  EXPECT_GT(q.grad().abs().sum().item<double>(), 0);
}

TEST(Fused, ASecondDerivativeIsRefused) {
  const Tensor q = torch::randn({1, 1, 3, 4}).set_requires_grad(true);
  EXPECT_THROW(attend(q, q, q).output.sum().backward({}, true, /*create_graph=*/true),
               std::exception);
}

}  // namespace
}  // namespace heed
