#include "heed/attention/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heed/base/error.hpp"
#include "heed/mechanisms/mechanism.hpp"

namespace heed {
namespace {

struct TraceTest : testing::TestWithParam<const char*> {
  TraceTest() {
    torch::manual_seed(4);
    mechanism = make_mechanism({.parts = {.mechanism = GetParam()},
                                .inputs = {{.name = "text", .dim = 6}},
                                .query_dim = 6});
    mechanism->to(torch::kFloat64);
    inputs.set("text", torch::randn({2, 5, 6}, torch::kFloat64), torch::tensor({5, 3}));
    inputs.query = torch::randn({2, 6}, torch::kFloat64);
  }
  std::shared_ptr<Mechanism> mechanism;
  Inputs inputs;
  std::string map_name() const {
    return std::string(GetParam()) == "mean-pool" ? "mean" : "attention";
  }
};

TEST_P(TraceTest, RecordsOnlyWhenAsked) {
  Trace quiet, trace = Trace::recording();
  const Tensor plain = mechanism->forward(inputs, quiet),
               traced = mechanism->forward(inputs, trace);
  EXPECT_TRUE(quiet.maps().empty());
  EXPECT_TRUE(torch::equal(plain, traced));
  const TraceMap& map = trace.map(map_name());
  EXPECT_EQ(map.axes, (std::vector<std::string>{"head", "query", "key"}));
  EXPECT_EQ(map.key_input, "text");
  EXPECT_EQ(map.entry(0).sizes().vec(), (std::vector<std::int64_t>{1, 1, 5}));
  EXPECT_EQ(map.entry(1).sizes().vec(), (std::vector<std::int64_t>{1, 1, 3}));
  EXPECT_LT((map.weights.sum(-1) - 1).abs().max().item<double>(), 1e-12);
}

TEST_P(TraceTest, ReplacedWeightsAreUsedAndTheGradientReachesThem) {
  const Tensor weights = torch::rand({2, 5}, torch::kFloat64).set_requires_grad(true);
  Trace trace = Trace::recording();
  trace.replace(map_name(), weights);
  const Tensor out = mechanism->forward(inputs, trace);
  trace.check_replacements_used();
  const Tensor used = weights * valid_positions(inputs["text"]);  // padding never takes part
  const Tensor expected = torch::matmul(used.unsqueeze(1), inputs["text"].data).squeeze(1);
  EXPECT_LT((out - expected).abs().max().item<double>(), 1e-12);
  out.sum().backward();
  EXPECT_GT(weights.grad().abs().sum().item<double>(), 0);
  EXPECT_EQ(weights.grad()[1].narrow(0, 3, 2).abs().sum().item<double>(), 0);
}

TEST_P(TraceTest, ReplacingByItsOwnWeightsChangesNothing) {
  Trace first = Trace::recording();
  const Tensor out = mechanism->forward(inputs, first);
  Trace second;
  second.replace(map_name(), first.map(map_name()).weights);
  EXPECT_LT((mechanism->forward(inputs, second) - out).abs().max().item<double>(), 1e-12);
}

TEST_P(TraceTest, AReplacementForNoModuleIsAnError) {
  Trace trace;
  trace.replace("attentoin", torch::ones({2, 5}, torch::kFloat64));
  mechanism->forward(inputs, trace);
  try {
    trace.check_replacements_used();
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'attentoin', which is no attention module"));
  }
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, TraceTest, testing::Values("singular", "mean-pool"),
                         [](const auto& instance) {
                           return std::string(instance.param) == "mean-pool" ? "MeanPool"
                                                                             : "Singular";
                         });

// A module that sees every pair of entries as one of its own.
TEST(TraceSlot, AViewTurnsAModulesBatchIntoTheCallers) {
  const TraceView view{.outward =
                           [](TraceMap map) {
                             map.weights = map.weights.reshape({2, 1, 3, 4});
                             return map;
                           },
                       .inward =
                           [](const Tensor& x) {
                             return x.reshape({6, 1, 1, 4});
                           },
                       .entries =
                           [](const Tensor& x) {
                             return x.reshape({2, 3}).sum(1);
                           }};
  Trace trace = Trace::recording();
  trace.replace("outer/words/hop 1", torch::ones({2, 1, 3, 4}));
  const Trace::Within within(trace, "outer");
  const TraceSlot slot = trace["words"].through(view)["hop 1"];
  EXPECT_EQ(slot.replacement().sizes().vec(), (std::vector<std::int64_t>{6, 1, 1, 4}));
  slot.record({.axes = {"head", "query", "key"}, .weights = torch::zeros({6, 1, 1, 4})});
  slot.add(Choice{.logp = torch::ones({6})});
  EXPECT_EQ(trace.map("outer/words/hop 1").weights.size(0), 2);
  EXPECT_TRUE(torch::equal(trace.choices().front().logp, torch::full({2}, 3.0)));
}

TEST(Baselines, NoAttentionTakesTheLastValidVector) {
  const auto mechanism = make_mechanism(
      {.parts = {.mechanism = "no-attention"}, .inputs = {{.name = "text", .dim = 2}}});
  Inputs inputs;
  const Tensor x = torch::arange(20, torch::kFloat32).view({2, 5, 2});
  inputs.set("text", x, torch::tensor({5, 3}));
  Trace trace;
  const Tensor out = mechanism->forward(inputs, trace);
  EXPECT_TRUE(torch::equal(out, torch::stack({x[0][4], x[1][2]})));
}

}  // namespace
}  // namespace heed
