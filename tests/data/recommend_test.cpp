#include <gmock/gmock.h>

#include <set>

#include "data/scratch.hpp"
#include "heed/data/dataset.hpp"

namespace heed {
namespace {

using ::testing::ElementsAre;
using testing::expect_parts;
using testing::message_of;
using testing::Scratch;

const char* const kTarget =
    "user\titem\tsplit\n"
    "1\ta\ttrain\n1\tb\ttrain\n1\tc\ttrain\n1\td\ttest\n"
    "2\ta\ttrain\n2\tb\ttrain\n2\td\ttrain\n2\tzz\ttest\n";

Dataset load_list(const Scratch& scratch, const std::string& target, const std::string& other) {
  return load_dataset({.kind = "recommend",
                       .data = scratch.write("shop.tsv", target),
                       .source = other.empty() ? "" : scratch.write("club.tsv", other)});
}

TEST(Interactions, LeaveEachItemOutInTurn) {
  const Scratch scratch;
  const Dataset data = load_list(scratch, kTarget, "user\titem\tsplit\n1\ta\ttrain\n1\tb\ttest\n");
  EXPECT_THAT(data.labels, ElementsAre("shop:a", "shop:b", "shop:c", "shop:d"));
  std::set<std::string> train_items;
  for (const Example& example : data.train) {
    const auto& history = example.inputs.at("history");
    EXPECT_EQ(std::ranges::count(history, example.label), 0) << "the answer is in the question";
    train_items.insert(example.label);
  }
  EXPECT_EQ(data.train.size() + data.val.size(), 6u);
  for (const Example& example : data.val) EXPECT_TRUE(train_items.contains(example.label));
  ASSERT_EQ(data.test.size(), 1u) << "nobody trains on item zz";
  EXPECT_EQ(data.test[0].label, "shop:d");
  EXPECT_THAT(data.test[0].inputs.at("history"), ElementsAre("shop:a", "shop:b", "shop:c"));
  EXPECT_THAT(data.test[0].inputs.at("source"), ElementsAre("club:a"));
  const Values& candidates = data.test[0].values.at("candidates");
  EXPECT_THAT(candidates.data, ElementsAre(3.0f)) << "user 1 has all the others";
}

TEST(Interactions, CandidatesAreNeverTheUsersOwn) {
  const Dataset data = load_dataset({.kind = "recommend", .data = "builtin:recommend?size=40"});
  for (const Example& example : data.test) {
    const auto& candidates = example.values.at("candidates").data;
    EXPECT_EQ(data.labels[static_cast<std::size_t>(candidates[0])], example.label);
    EXPECT_EQ(std::set(candidates.begin(), candidates.end()).size(), candidates.size());
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      const std::string& item = data.labels[static_cast<std::size_t>(candidates[i])];
      EXPECT_NE(item, example.label);
      EXPECT_EQ(std::ranges::count(example.inputs.at("history"), item), 0);
    }
  }
}

TEST(Interactions, NameFileAndLineOfAMistake) {
  const std::string good = kTarget;
  struct Wrong {
    std::string target, place, reason;
  };
  const Wrong cases[] = {
      {good + "3\ta\tval\n", "shop.tsv:10: ", "'val'"},
      {good + "3\t\ttrain\n", "shop.tsv:10: ", "item is empty"},
      {good + "1\ta\ttrain\n", "shop.tsv:10: ", "took item 'a' before"},
      {good + "1\ta\n", "shop.tsv:10: ", "2 cells"},
      {"user\titem\tsplit\ttime\n1\ta\ttrain\tnoon\n", "shop.tsv:2: ", "'noon'"},
      {"user\titem\tsplit\ttime\n1\ta\ttrain\tnan\n", "shop.tsv:2: ", "'nan'"},
      {"user\titem\tsplit\ttime\n1\ta\ttrain\t5\n1\tb\ttrain\t\n", "shop.tsv:3: ", "time is empty"},
      {"user\titem\tsplit\n1\ta\ttrain\n2\tb\ttrain\n1\tc\ttest\n", "shop.tsv: ", "test rows"},
      {"who\titem\tsplit\n1\ta\ttrain\n", "shop.tsv:1: ", "'user'"},
      {"user\titem\tsplit\n1\ta\ttest\n", "shop.tsv:1: ", "'train'"},
  };
  for (const Wrong& wrong : cases) {
    const Scratch scratch;
    expect_parts(message_of([&] { load_list(scratch, wrong.target, ""); }),
                 {wrong.place, wrong.reason});
  }
}

TEST(Interactions, ASourceMustShareUsers) {
  const Scratch scratch;
  expect_parts(
      message_of([&] { load_list(scratch, kTarget, "user\titem\tsplit\nu1\ta\ttrain\n"); }),
      {"no user", "club.tsv", "shop.tsv", "one name in both"});
}

TEST(Interactions, TimeOrdersAHistory) {
  const Scratch scratch;
  const Dataset data = load_list(
      scratch,
      "user\titem\tsplit\ttime\n1\ta\ttrain\t3\n1\tb\ttrain\t1\n2\tb\ttrain\t1\n2\tc\ttrain\t2\n"
      "1\tc\ttest\t9\n",
      "");
  ASSERT_EQ(data.test.size(), 1u);
  EXPECT_THAT(data.test[0].inputs.at("history"), ElementsAre("shop:b", "shop:a"));
}

}  // namespace
}  // namespace heed
