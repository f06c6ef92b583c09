#include "heed/attention/linear.hpp"

#include <gmock/gmock.h>

#include "mechanisms/support.hpp"

namespace heed {
namespace {

std::shared_ptr<Mechanism> linear_of(const std::string& rule, const std::string& how = "last",
                                     PartSpec position = "none") {
  torch::manual_seed(7);
  auto made = make_mechanism({.parts = {.mechanism = {"linear", {{"rule", rule}, {"pool", how}}},
                                        .queries = {"multi-head", {{"heads", std::int64_t{2}}}},
                                        .position = std::move(position)},
                              .inputs = {{.name = "text", .dim = 8}}});
  made->to(kFull);
  return made;
}

struct EveryRule : testing::TestWithParam<const char*> {};

TEST_P(EveryRule, HoldsThePromises) {
  const bool seen = !std::string(GetParam()).ends_with("delta");
  for (const std::string how : {"last", "mean"}) {
    hold_promises(*linear_of(GetParam(), how), seen ? "linear" : "",
                  torch::randn({3, 4, 8}, kFull));
  }
}

// The formula by plain loops over steps, which share nothing with the kernels.
TEST_P(EveryRule, EqualsItsFormula) {
  const std::string rule = GetParam();
  const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta");
  const auto mechanism = linear_of(rule, "none");
  auto w = mechanism->named_parameters();
  const Tensor x = torch::randn({1, 6, 8}, kFull);
  const auto through = [&](const std::string& name) {
    return torch::matmul(x[0], w[name + ".weight"].t()) + w[name + ".bias"];
  };
  const auto features = [&](const Tensor& y) -> Tensor {
    if (!delta) return torch::where(y > 0, y + 1, torch::exp(y));
    const Tensor z = y * torch::sigmoid(y);
    return z / z.norm();
  };
  const Tensor q = through("W_Q"), k = through("W_K"), v = through("W_V");
  Tensor answers = torch::zeros({6, 8}, kFull);
  for (std::int64_t h = 0; h < 2; ++h) {
    Tensor state = torch::zeros({4, 4}, kFull), sum = torch::zeros({4}, kFull);
    for (std::int64_t t = 0; t < 6; ++t) {
      const auto head = [&](const Tensor& y) { return y[t].narrow(0, 4 * h, 4); };
      const Tensor qt = features(head(q)), kt = features(head(k)), vt = head(v);
      const Tensor keep = gated ? torch::sigmoid(through("W_G")[t][h]) : torch::ones({}, kFull);
      state = keep * state, sum = keep * sum + kt;
      const Tensor rate = delta ? torch::sigmoid(through("W_B")[t][h]) : torch::ones({}, kFull);
      state = state + rate * torch::outer(kt, delta ? vt - torch::matmul(state.t(), kt) : vt);
      const Tensor answer = torch::matmul(state.t(), qt);
      answers[t].narrow(0, 4 * h, 4).copy_(delta ? answer : answer / qt.dot(sum));
    }
  }
  const Tensor expected = torch::matmul(answers, w["W_O.weight"].t()) + w["W_O.bias"];
  Trace trace;
  EXPECT_LT(greatest(mechanism->forward(text_of(x), trace)[0] - expected), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryRule,
                         testing::Values("linear", "gated", "delta", "gated-delta"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Linear, RefusesWhatNeedsScores) {
  EXPECT_THAT(refusal([] { linear_of("linear", "last", "alibi"); }),
              testing::HasSubstr("position 'alibi' needs scores"));
  EXPECT_THAT(refusal([] { linear_of("linear", "last", "rope"); }),
              testing::HasSubstr("not 'linear'"));
  EXPECT_EQ(refusal([] { linear_of("linear", "last", "sinusoidal"); }), "no error");
}

}  // namespace
}  // namespace heed
