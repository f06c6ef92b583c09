#include "heed/data/batches.hpp"

#include <gtest/gtest.h>

#include "data/scratch.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::message_of;

const std::vector<std::string> kLabels = {"neg", "pos"};
const Vocabulary kVocabulary({"a", "b", "c"});

std::vector<Example> examples() {
  return {{.id = "x",
           .inputs = {{"text", {"a", "b", "zzz"}}},
           .label = "pos",
           .gold = {{"text", {0, 1, 0}}}},
          {.id = "y", .inputs = {{"text", {"c"}}}, .label = "neg", .gold = {{"text", {0.5f}}}},
          {.id = "z", .inputs = {{"text", {"b", "a"}}}, .label = "pos", .gold = {}}};
}

Batch collated(const std::vector<Example>& data, const std::vector<std::size_t>& indices) {
  return collate(data, indices, {.labels = kLabels, .vocabulary = kVocabulary});
}

TEST(Collate, NumbersPadsAndKeepsTheOrderAsked) {
  const Batch batch = collated(examples(), {1, 0});
  const Padded& text = batch.inputs.at("text");
  EXPECT_TRUE(torch::equal(text.ids, torch::tensor({{4, 0, 0}, {2, 3, 1}}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(text.lengths, torch::tensor({1, 3}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(text.gold, torch::tensor({{0.5f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}})));
  EXPECT_TRUE(torch::equal(batch.labels, torch::tensor({0, 1}, torch::kInt64)));
  EXPECT_EQ(batch.indices, (std::vector<std::size_t>{1, 0}));
}

TEST(Collate, LeavesOutLabelsAndGoldUnlessOneHasThem) {
  auto data = examples();
  data[1].label.clear();
  const Batch batch = collated(data, {1, 2});
  EXPECT_TRUE(
      torch::equal(batch.inputs.at("text").gold, torch::tensor({{0.5f, 0.0f}, {0.0f, 0.0f}})));
  EXPECT_FALSE(collated(data, {2}).inputs.at("text").gold.defined());
  EXPECT_EQ(batch.labels[0].item<std::int64_t>(), Batch::kNoLabel);
  EXPECT_GE(batch.labels[1].item<std::int64_t>(), 0);
  EXPECT_FALSE(collated(data, {1}).labels.defined());
  EXPECT_EQ(batch.inputs.at("text").ids.size(1), 2);
}

TEST(Collate, PadsEachInputToItsOwnLength) {
  const std::vector<Example> data = {{.id = "1",
                                      .inputs = {{"left", {"a"}}, {"right", {"b", "c"}}},
                                      .label = "pos",
                                      .gold = {{"left", {1}}}},
                                     {.id = "2",
                                      .inputs = {{"left", {"b"}}, {"right", {}}},
                                      .label = "neg",
                                      .gold = {{"left", {0}}}}};
  const Batch batch = collated(data, {0, 1});
  EXPECT_TRUE(torch::equal(batch.inputs.at("left").ids, torch::tensor({{2}, {3}}, torch::kInt64)));
  EXPECT_TRUE(
      torch::equal(batch.inputs.at("right").ids, torch::tensor({{3, 4}, {0, 0}}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(batch.inputs.at("right").lengths, torch::tensor({2, 0}, torch::kInt64)));
  EXPECT_TRUE(batch.inputs.at("left").gold.defined());
  EXPECT_FALSE(batch.inputs.at("right").gold.defined());
}

TEST(Collate, AWrongExampleIsAnInputErrorThatNamesIt) {
  auto data = examples();
  data[0].label = "neutral";
  expect_parts(message_of([&] { collated(data, {1, 0}); }), {"'x'", "'neutral'"});
  data = examples();
  data[1].gold["text"].push_back(1);
  expect_parts(message_of([&] { collated(data, {0, 1}); }), {"'y'", "2 gold weights for 1 tokens"});
  data = examples();
  data[2].inputs["aspect"] = {"a"};
  expect_parts(message_of([&] { collated(data, {0, 2}); }), {"'x'", "'aspect'"});
  expect_parts(message_of([&] { collated(data, {2, 0}); }), {"'x'", "'aspect'"});
  expect_parts(message_of([&] { collated(data, {}); }), {"no examples"});
  expect_parts(message_of([&] { collated(data, {3}); }), {"3 of 3"});
}

}  // namespace
}  // namespace heed
