// The numerical contract, rule by rule.
#include "heed/attention/attend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace heed {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Contract : testing::Test {
  Contract() { torch::manual_seed(5); }
  Tensor q = random({2, 4, 3, 8}), k = random({2, 2, 5, 8}), v = random({2, 2, 5, 6});
  AttendOptions want_weights{.want = {.weights = true, .lse = true}};

  static Tensor random(std::vector<std::int64_t> sizes) {
    return torch::randn(sizes, torch::kFloat64);
  }
  static double gap(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }
  Tensor weights(AttendOptions options) {
    options.want.weights = true;
    return attend(q, k, v, options).weights;
  }
};

TEST_F(Contract, OrderIsScaleSoftcapBiasMask) {
  const Tensor bias = random({3, 5}), mask = torch::rand({3, 5}) > 0.3;
  const Tensor expanded = k.repeat_interleave(2, 1);
  Tensor e = torch::matmul(q, expanded.transpose(-1, -2)) * 3.0;
  e = torch::tanh(e / 2.0) * 2.0 + bias;
  e = e.masked_fill(mask.logical_not(), -kInf);
  const Tensor expected = torch::nan_to_num(torch::softmax(e, -1));
  EXPECT_LT(gap(weights({.mask = mask, .bias = bias, .scale = 3.0, .softcap = 2.0}), expected),
            1e-14);
}

TEST_F(Contract, ScaleZeroIsNotTheDefault) {
  EXPECT_LT((weights({.scale = 0.0}) - 0.2).abs().max().item<double>(), 1e-15);
}

TEST_F(Contract, MasksOfEveryRankBroadcast) {
  const Tensor full = torch::rand({2, 4, 3, 5}) > 0.4;
  EXPECT_EQ(weights({.mask = full}).masked_select(full.logical_not()).abs().sum().item<double>(),
            0);
  const Tensor keys = full[0][0][0], pairs = full[0][0], heads = full[0];
  EXPECT_TRUE(torch::equal(weights({.mask = keys}), weights({.mask = keys.expand({2, 4, 3, 5})})));
  EXPECT_TRUE(
      torch::equal(weights({.mask = pairs}), weights({.mask = pairs.expand({2, 4, 3, 5})})));
  EXPECT_TRUE(
      torch::equal(weights({.mask = heads}), weights({.mask = heads.expand({2, 4, 3, 5})})));
}

TEST_F(Contract, CausalCornersAndOffsets) {
  const auto last_seen = [&](Causal causal, std::int64_t query) {
    const Tensor seen = weights({.causal = causal})[0][0][query] > 0;
    return seen.sum().item<std::int64_t>() - 1;
  };
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(last_seen(Causal::top_left(), i), i);
    EXPECT_EQ(last_seen(Causal::bottom_right(), i), i + 2);
    EXPECT_EQ(last_seen(Causal::at(1), i), i + 1);
    EXPECT_EQ(last_seen(Causal::at(0), i), i);
  }
  EXPECT_EQ(last_seen(Causal::at(-1), 0), -1);  // a negative offset empties the first row
}

TEST_F(Contract, BottomRightCountsFromEachEntrysLength) {
  const Tensor seen =
      weights({.causal = Causal::bottom_right(), .lengths = torch::tensor({5, 3})}) > 0;
  EXPECT_EQ(seen[0][0].sum().item<std::int64_t>(), 3 + 4 + 5);
  EXPECT_EQ(seen[1][0].sum().item<std::int64_t>(), 1 + 2 + 3);
}

TEST_F(Contract, WindowsAreRoundThePositionPlusOffset) {
  const Tensor seen = weights({.causal = {}, .window = {{1, 0}}})[0][0] > 0;
  const Tensor expected =
      torch::tensor({{1, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {0, 1, 1, 0, 0}}).to(torch::kBool);
  EXPECT_TRUE(torch::equal(seen, expected));
  const Tensor open = weights({.causal = Causal::at(1), .window = {{-1, 0}}})[0][0] > 0;
  EXPECT_EQ(open.sum().item<std::int64_t>(), 2 + 3 + 4);
}

TEST_F(Contract, EmptyRowsGiveZerosAndZeroGradients) {
  const Tensor mask = torch::ones({3, 5}, torch::kBool);
  mask[1].fill_(false);
  q.set_requires_grad(true);
  k.set_requires_grad(true);
  v.set_requires_grad(true);
  want_weights.mask = mask;
  const AttendResult r = attend(q, k, v, want_weights);
  EXPECT_EQ(r.output.select(2, 1).abs().sum().item<double>(), 0);
  EXPECT_EQ(r.weights.select(2, 1).abs().sum().item<double>(), 0);
  EXPECT_EQ(r.lse.select(2, 1).max().item<double>(), -kInf);
  r.output.sum().backward();
  EXPECT_EQ(q.grad().select(2, 1).abs().sum().item<double>(), 0);
  for (const Tensor& x : {q, k, v}) EXPECT_TRUE(torch::isfinite(x.grad()).all().item<bool>());
}

TEST_F(Contract, EmptinessIsDecidedOnMaskAndBiasNotOnScores) {
  const Tensor bias = torch::zeros({3, 5}, torch::kFloat64);
  bias[0].fill_(-kInf);
  const AttendResult r = attend(q * kInf, k, v, {.bias = bias});  // every score is ±∞ or NaN
  EXPECT_EQ(r.output.select(2, 0).abs().sum().item<double>(), 0);
  EXPECT_TRUE(torch::isnan(r.output.select(2, 1)).any().item<bool>());
}

TEST_F(Contract, LogSumExpIsNaturalAndCountsTheSink) {
  const Tensor sink = random({4});
  const Tensor e = torch::matmul(q, k.repeat_interleave(2, 1).transpose(-1, -2)) / std::sqrt(8.0);
  const Tensor with = torch::cat({e, sink.view({1, 4, 1, 1}).expand({2, 4, 3, 1})}, -1);
  want_weights.sink = sink;
  const AttendResult r = attend(q, k, v, want_weights);
  EXPECT_EQ(r.lse.scalar_type(), torch::kFloat32);
  EXPECT_LT(gap(r.lse, torch::logsumexp(with, -1)), 1e-6);
  EXPECT_LT(gap(r.weights, torch::softmax(with, -1).narrow(-1, 0, 5)), 1e-13);
}

TEST_F(Contract, AlibiAddsMinusSlopeTimesDistance) {
  const Tensor slopes = torch::tensor({0.5, 0.25, 0.125, 0.0625}, torch::kFloat64);
  const Tensor i = torch::arange(3, torch::kFloat64).view({3, 1}),
               j = torch::arange(5, torch::kFloat64);
  const Tensor bias = -slopes.view({4, 1, 1}) * (i + 2 - j).abs();
  EXPECT_LT(gap(weights({.alibi = slopes, .causal = Causal::bottom_right()}),
                weights({.bias = bias, .causal = Causal::bottom_right()})),
            1e-14);
}

TEST_F(Contract, GroupedHeadsServeRunsOfQueryHeads) {
  const Tensor expected = attend(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)).output;
  EXPECT_LT(gap(attend(q, k, v).output, expected), 1e-14);
}

TEST_F(Contract, LayoutsAgreeAndThreeDimensionsHaveNoHeads) {
  const Tensor expected = attend(q, k, v).output;
  const Tensor other =
      attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), {.layout = Layout::blhd})
          .output;
  EXPECT_TRUE(torch::equal(other.transpose(1, 2), expected));
  want_weights.mask = torch::rand({2, 3, 5}) > 0.3;  // rank 3 is (batch, q, k) here
  const AttendResult flat = attend(q.select(1, 0), k.select(1, 0), v.select(1, 0), want_weights);
  EXPECT_EQ(flat.output.sizes().vec(), (std::vector<std::int64_t>{2, 3, 6}));
  EXPECT_EQ(flat.weights.masked_select(want_weights.mask.logical_not()).abs().sum().item<double>(),
            0);
}

TEST_F(Contract, ReductionsAreThoseOfTheWeights) {
  const AttendResult r = attend(
      q, k, v,
      {.want = {.weights = true, .entropy = true, .received = true, .topk = 2, .rows = {2, 0}}});
  EXPECT_LT(gap(r.entropy, -(r.weights * r.weights.log()).sum(-1)), 1e-6);
  EXPECT_LT(gap(r.received, r.weights.sum(2)), 1e-6);
  EXPECT_TRUE(torch::equal(r.topk_weights, std::get<0>(r.weights.topk(2))));
  EXPECT_TRUE(torch::equal(r.weights.gather(-1, r.topk_keys), r.topk_weights));
  EXPECT_TRUE(torch::equal(r.rows.select(2, 0), r.weights.select(2, 2)));
}

TEST_F(Contract, DropoutIsScaledAndRepeatsWithItsSeed) {
  const Tensor ones = torch::ones({2, 2, 5, 1}, torch::kFloat64), many = random({2, 4, 400, 8});
  const AttendOptions options{.scale = 0.0, .dropout_p = 0.25, .seed = 9};
  const Tensor sum = attend(many, k, ones, options).output;  // Σ of kept weights / (1 − p)
  EXPECT_NEAR(sum.mean().item<double>(), 1, 0.02);
  EXPECT_GT(sum.std().item<double>(), 0.1);
  EXPECT_TRUE(torch::equal(sum, attend(many, k, ones, options).output));
  EXPECT_FALSE(torch::equal(
      sum, attend(many, k, ones, {.scale = 0.0, .dropout_p = 0.25, .seed = 10}).output));
}

TEST_F(Contract, HalfTypesAccumulateInFloat) {
  const Tensor exact = attend(q, k, v).output;
  for (const auto type : {torch::kBFloat16, torch::kFloat16}) {
    const Tensor out = attend(q.to(type), k.to(type), v.to(type)).output;
    EXPECT_EQ(out.scalar_type(), type);
    EXPECT_LT(gap(out.to(torch::kFloat64), exact), type == torch::kBFloat16 ? 0.05 : 0.008);
  }
}

TEST_F(Contract, StridedAndBroadcastInputsAreLegal) {
  const Tensor wide = random({2, 5, 2, 16}).transpose(1, 2).slice(3, 0, 16, 2);  // no stride is 1
  EXPECT_TRUE(torch::equal(attend(q, wide, v).output, attend(q, wide.contiguous(), v).output));
  const Tensor one = random({1, 1, 1, 8}).expand({2, 4, 3, 8});
  EXPECT_TRUE(torch::equal(attend(one, k, v).output, attend(one.contiguous(), k, v).output));
}

TEST_F(Contract, AdditiveDoesWithoutAQuery) {
  const Params params = {{"W2", random({7, 8})}, {"w", random({7})}, {"b", random({7})}};
  const Tensor out = attend({}, k, v, {.score = "additive", .params = params}).output;
  Tensor e = torch::matmul(torch::tanh(torch::matmul(k, params.at("W2").t()) + params.at("b")),
                           params.at("w"));
  EXPECT_LT(gap(out.squeeze(2), torch::matmul(torch::softmax(e, -1).unsqueeze(2), v).squeeze(2)),
            1e-14);
}

TEST_F(Contract, GivenWeightsAreUsedDifferentiably) {
  const Tensor given = random({2, 4, 3, 5}).softmax(-1).set_requires_grad(true);
  const Tensor out = attend(q, k, v, {.weights = given}).output;
  EXPECT_LT(gap(out, torch::matmul(given, v.repeat_interleave(2, 1))), 1e-15);
  out.sum().backward();
  EXPECT_TRUE(given.grad().defined());
}

}  // namespace
}  // namespace heed
