#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>

#include "mechanisms/support.hpp"

namespace heed {
namespace {

std::shared_ptr<Mechanism> self_attention_of(Options options, PartSpec score = "scaled-dot",
                                             std::int64_t heads = 2) {
  torch::manual_seed(5);
  MechanismProblem problem{.parts = {.mechanism = {"self-attention", std::move(options)},
                                     .score = std::move(score),
                                     .queries = {"multi-head", {{"heads", heads}}}},
                           .inputs = {{.name = "text", .dim = 8}}};
  if (heads == 0) problem.parts.queries = "singular";
  auto made = make_mechanism(problem);
  made->to(kFull);
  return made;
}

TEST(SelfAttention, EqualsTorchMultiheadAttention) {
  const auto ours = self_attention_of({{"pool", std::string("none")}});
  torch::nn::MultiheadAttention theirs(torch::nn::MultiheadAttentionOptions(8, 2));
  theirs->to(kFull);
  torch::NoGradGuard no_grad;
  auto mine = ours->named_parameters();
  for (Tensor& parameter : theirs->parameters()) parameter.normal_();
  const auto in = theirs->in_proj_weight.chunk(3), bias = theirs->in_proj_bias.chunk(3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name = std::string("attention.W_") + "QKV"[i];
    mine[name + ".weight"].copy_(in[i]);
    mine[name + ".bias"].copy_(bias[i]);
  }
  mine["attention.W_O.weight"].copy_(theirs->out_proj->weight);
  mine["attention.W_O.bias"].copy_(theirs->out_proj->bias);
  const Tensor x = torch::randn({3, 5, 8}, kFull), lengths = torch::tensor({5, 2, 4});
  const Tensor t = x.transpose(0, 1);
  const Tensor padding = torch::arange(5).unsqueeze(0) >= lengths.unsqueeze(1);
  const auto [output, weights] = theirs->forward(t, t, t, padding, true);
  Trace trace = Trace::recording();
  const Tensor c = ours->forward(text_of(x, lengths), trace);
  for (std::int64_t b = 0; b < 3; ++b) {
    const std::int64_t n = lengths[b].item<std::int64_t>();
    EXPECT_LT((c[b] - output.transpose(0, 1)[b]).narrow(0, 0, n).abs().max().item<double>(), 1e-12);
    const Tensor mean = trace.map("self").entry(b).mean(0);
    EXPECT_LT((mean - weights[b].narrow(0, 0, n).narrow(1, 0, n)).abs().max().item<double>(),
              1e-12);
  }
}

TEST(SelfAttention, WithRowsAndDotIsThePapersFormula) {
  const auto ours = self_attention_of({{"rows", std::int64_t{3}}, {"penalty", 0.5}}, "dot", 0);
  auto mine = ours->named_parameters();
  const Tensor x = torch::randn({2, 5, 8}, kFull);
  Trace trace = Trace::recording();
  const Tensor c = ours->forward(text_of(x), trace);
  // A = softmax(W2 tanh(W1 Hᵀ)), M = A H.
  const Tensor a = torch::softmax(
      torch::matmul(mine["rows"],
                    torch::tanh(torch::matmul(mine["W_1.weight"], x.transpose(1, 2)))),
      -1);
  EXPECT_LT((c - torch::matmul(a, x).flatten(1)).abs().max().item<double>(), 1e-12);
  ASSERT_EQ(trace.losses().size(), 1u);
  EXPECT_EQ(trace.losses()[0].name, "self/redundancy");
  const Tensor alike = torch::matmul(a, a.transpose(1, 2)) - torch::eye(3, kFull);
  const Tensor expected = 0.5 * (alike * alike).sum() / 2;
  const Tensor term = trace.losses()[0].value({});
  EXPECT_NEAR(term.item<double>(), expected.item<double>(), 1e-12);
  const std::vector<Tensor> inputs = {mine["rows"], mine["W_1.weight"]};
  const auto g = torch::autograd::grad({term}, inputs),
             e = torch::autograd::grad({expected}, inputs);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_LT((g[i] - e[i]).abs().max().item<double>(), 1e-12);
  ours->eval();
  Trace later;
  ours->forward(text_of(x), later);
  EXPECT_TRUE(later.losses().empty()) << "a penalty outside training";
}

TEST(SelfAttention, ThePenaltyDrivesRowsApart) {
  for (const int seed : {1, 2}) {
    const auto ours = self_attention_of({{"rows", std::int64_t{3}}}, "dot", 0);
    torch::manual_seed(seed);
    const Tensor x = torch::randn({4, 12, 8}, kFull);
    const auto overlap = [&] {
      Trace trace = Trace::recording();
      ours->forward(text_of(x), trace);
      const Tensor a = trace.map("self").weights.squeeze(1);
      return (torch::matmul(a, a.transpose(1, 2)) * (1 - torch::eye(3, kFull)))
          .mean()
          .item<double>();
    };
    auto mine = ours->named_parameters();
    mine["rows"].data().copy_(mine["rows"].data()[0] + 0.1 * torch::randn({3, 8}, kFull));
    const double before = overlap();
    for (int step = 0; step < 60; ++step) {
      Trace trace;
      ours->forward(text_of(x), trace);
      const std::vector<Tensor> moved = {mine["rows"], mine["W_1.weight"]};
      const auto g = torch::autograd::grad({trace.losses()[0].value({})}, moved);
      torch::NoGradGuard no_grad;
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i].sub_(g[i], 0.3);
    }
    EXPECT_LT(overlap(), 0.5 * before) << seed;
  }
}

struct EverySelf : testing::TestWithParam<Options> {};

TEST_P(EverySelf, HoldsThePromises) {
  const auto pool = GetParam().find("pool");
  hold_promises(*self_attention_of(GetParam()), "self", torch::randn({3, 4, 8}, kFull), {},
                pool != GetParam().end() && pool->second == OptionValue(std::string("none")));
}

INSTANTIATE_TEST_SUITE_P(Options, EverySelf,
                         testing::Values(Options{}, Options{{"pool", std::string("max")}},
                                         Options{{"pool", std::string("last")}, {"causal", true}},
                                         Options{{"pool", std::string("none")}},
                                         Options{{"rows", std::int64_t{3}}}));

}  // namespace
}  // namespace heed
