#include "heed/explain/omit.hpp"

#include <gtest/gtest.h>

#include "heed/base/error.hpp"

namespace heed::explain {
namespace {

Example story() {
  Example example{.id = "1"};
  example.inputs["text"] = {"a", "b", "c", "d", "e", "f"};
  example.inputs["question"] = {"who", "?"};
  example.gold["text"] = {0, 1, 0, 2, 0, 3};
  example.levels["text"] = {{2, 1, 3}, {2, 1}};
  example.views["left"] = {.of = "text", .begin = 0, .end = 3};
  example.views["target"] = {.of = "text", .begin = 3, .end = 4};
  example.views["right"] = {.of = "text", .begin = 4, .end = 6};
  return example;
}

TEST(Omit, TakesAWordWithItsShareOfViewsSentencesAndGold) {
  const Example less = without(story(), "text", 1);
  EXPECT_EQ(less.inputs.at("text"), (std::vector<std::string>{"a", "c", "d", "e", "f"}));
  EXPECT_EQ(less.gold.at("text"), (std::vector<float>{0, 0, 2, 0, 3}));
  EXPECT_EQ(less.levels.at("text"), (std::vector<std::vector<std::int64_t>>{{1, 1, 3}, {2, 1}}));
  EXPECT_EQ(less.views.at("left").end, 2u);
  EXPECT_EQ(less.views.at("target").begin, 2u);
  EXPECT_EQ(less.views.at("target").end, 3u);
  EXPECT_EQ(less.views.at("right").end, 5u);
  EXPECT_EQ(less.inputs.at("question").size(), 2u);
}

TEST(Omit, ASentenceThatLosesAllItsWordsIsGone) {
  const Example less = with_only(story(), "text", {false, false, true, true, false, false});
  EXPECT_EQ(less.levels.at("text"), (std::vector<std::vector<std::int64_t>>{{1, 1}, {1, 1}}));
  const Example third = with_only(story(), "text", {false, false, false, true, false, false});
  EXPECT_EQ(third.levels.at("text"), (std::vector<std::vector<std::int64_t>>{{1}, {1}}));
  EXPECT_EQ(third.views.at("left").begin, 0u);
  EXPECT_EQ(third.views.at("left").end, 0u);
}

TEST(Omit, SomethingAlwaysStays) {
  const Example less = with_only(story(), "text", std::vector<bool>(6, false));
  EXPECT_EQ(less.inputs.at("text"), (std::vector<std::string>{"a"}));
}

TEST(Omit, NumbersBecomeZerosInPlace) {
  Example picture{.id = "1"};
  picture.values["image"] = {.width = 2, .data = {1, 2, 3, 4, 5, 6}};
  const Example less = without(picture, "image", 1);
  EXPECT_EQ(less.values.at("image").data, (std::vector<float>{1, 2, 0, 0, 5, 6}));
}

TEST(Omit, AListOfAnotherLengthIsRefused) {
  EXPECT_THROW(with_only(story(), "text", {true}), InputError);
  EXPECT_THROW(with_only(story(), "answer", {true}), InputError);
}

}  // namespace
}  // namespace heed::explain
