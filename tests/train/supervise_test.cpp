#include "train/supervise.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "heed/base/error.hpp"

namespace heed {
namespace {

/// Two pairs of texts "a b" with translations of two words and one; of the first, the first word is
/// linked with both words, of the second the only one with the second.
std::vector<Example> pairs() {
  Example first{.id = "1", .inputs = {{"text", {"a", "b"}}}};
  first.target = {"x", "y"};
  first.links = {{0, 0}, {0, 1}};
  Example second{.id = "2", .inputs = {{"text", {"a", "b"}}}};
  second.target = {"x"};
  second.links = {{0, 1}};
  return {first, second};
}

Batch batch_of(const std::vector<Example>& examples) {
  std::vector<std::size_t> indices(examples.size());
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  return collate(examples, indices, {.labels = {}, .vocabulary = {}});
}

Trace recorded(const Tensor& weights, const std::string& query_input) {
  Trace trace = Trace::differentiable();
  trace["memory"].record({.name = "memory",
                          .axes = {"head", "query", "key"},
                          .query_input = query_input,
                          .key_input = "text",
                          .weights = weights,
                          .query_lengths = {},
                          .key_lengths = {}});
  return trace;
}

double loss(const Trace& trace, const std::vector<Example>& examples, Config::Train train = {}) {
  return attention_loss(trace, batch_of(examples), examples, train).item<double>();
}

TEST(Supervise, HoldsEachLinkedWordAgainstItsLinks) {
  const Tensor weights = torch::rand({2, 3, 3, 2}, torch::kFloat64);  // 3 heads; the end's row too
  const Tensor mean = weights.mean(1);
  const auto w = mean.accessor<double, 3>();
  // The first word's gold is a half on each word; "y", the padding and the ends say nothing.
  const double expected =
      (-0.5 * std::log(w[0][0][0]) - 0.5 * std::log(w[0][0][1]) - std::log(w[1][0][1])) / 2;
  EXPECT_NEAR(loss(recorded(weights, "target"), pairs()), expected, 1e-7);
  EXPECT_NEAR(loss(recorded(weights, "target"), pairs(), {.supervise_loss = "kl"}),
              expected + std::log(0.5) / 2, 1e-7);
  const Tensor head = weights.select(1, 1);
  const auto h = head.accessor<double, 3>();
  const double squared = (std::pow(h[0][0][0] - 0.5, 2) + std::pow(h[0][0][1] - 0.5, 2) +
                          std::pow(h[1][0][0], 2) + std::pow(h[1][0][1] - 1, 2)) /
                         2;
  EXPECT_NEAR(loss(recorded(weights, "target"), pairs(),
                   {.supervise_loss = "squared", .supervise_map = "memory", .supervise_head = 2}),
              squared, 1e-7);
}

TEST(Supervise, PullsOnlyAtRowsWithLinks) {
  Tensor weights = torch::full({2, 1, 3, 2}, 0.5).requires_grad_();
  const std::vector<Example> examples = pairs();
  attention_loss(recorded(weights, "target"), batch_of(examples), examples, {}).backward();
  const Tensor pulled = weights.grad().abs().sum(-1).squeeze(1);
  EXPECT_TRUE(
      torch::equal(pulled > 0, torch::tensor({{true, false, false}, {true, false, false}})));
}

TEST(Supervise, WithoutLinksTheMeanOverQueriesIsHeldAgainstGoldWhereThereIsAny) {
  std::vector<Example> examples = pairs();
  for (Example& example : examples) example.links.clear();
  const Tensor weights = torch::rand({2, 1, 3, 2}, torch::kFloat64);
  EXPECT_FALSE(attention_loss(recorded(weights, ""), batch_of(examples), examples, {}).defined());
  examples[1].gold["text"] = {0, 4};
  const double expected = -std::log(weights[1][0].mean(0)[1].item<double>());
  EXPECT_NEAR(loss(recorded(weights, ""), examples), expected, 1e-7);
}

TEST(Supervise, AnUnknownMapOrHeadIsSaid) {
  const Trace trace = recorded(torch::rand({2, 1, 3, 2}), "target");
  EXPECT_THROW(loss(trace, pairs(), {.supervise_map = "memroy"}), InputError);
  EXPECT_THROW(loss(trace, pairs(), {.supervise_head = 2}), InputError);
}

}  // namespace
}  // namespace heed
