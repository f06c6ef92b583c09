#include <gmock/gmock.h>

#include "data/scratch.hpp"
#include "heed/data/dataset.hpp"

namespace heed {
namespace {

using ::testing::ElementsAre;
using testing::expect_parts;
using testing::message_of;
using testing::Scratch;

const char* const kKnown =
    "text\tlabel\tsplit\ngood soup\tup\ttrain\nbad soup\tdown\ttrain\nfine soup\tup\tval\n"
    "old soup\tdown\ttest\n";

Dataset load_two(const Scratch& scratch, const std::string& wanted) {
  return load_dataset({.data = scratch.write("laptops.tsv", wanted),
                       .source = scratch.write("restaurants.tsv", kKnown)});
}

TEST(Transfer, LabelsComeFromTheOneDomainAndTestsFromTheOther) {
  const Scratch scratch;
  const Dataset data = load_two(scratch,
                                "text\tlabel\tsplit\ngood disk\tdown\ttrain\nloud disk\tdown\tval\n"
                                "bad disk\tdown\ttest\n");
  EXPECT_EQ(data.name, "restaurants to laptops");
  EXPECT_THAT(data.labels, ElementsAre("down", "up"));
  std::vector<std::string> labels;
  for (const Example& example : data.train) labels.push_back(example.label);
  EXPECT_THAT(labels, ElementsAre("up", "down", "", "")) << "no label of the wanted domain is seen";
  ASSERT_EQ(data.val.size(), 1u);
  EXPECT_THAT(data.val[0].inputs.at("text"), ElementsAre("fine", "soup"));
  ASSERT_EQ(data.test.size(), 1u);
  EXPECT_THAT(data.test[0].inputs.at("text"), ElementsAre("bad", "disk"));
  EXPECT_EQ(data.test[0].label, "down");
}

TEST(Transfer, ALabelThatNobodyTeachesIsRefused) {
  const Scratch scratch;
  const std::string wanted = "text\tlabel\tsplit\ngood disk\tupp\ttrain\nbad disk\tupp\ttest\n";
  expect_parts(message_of([&] { load_two(scratch, wanted); }),
               {"laptops.tsv:3: ", "'upp'", "task.source", "restaurants.tsv", "'up'"});
  expect_parts(message_of([&] {
                 load_two(scratch, "text\tlabel\tsplit\na\t\ttrain\nb\tup\ttest\nc\t\ttest\n");
               }),
               {"laptops.tsv:4: ", "label ''", "test part"});
  const DataSource parts = {.train = scratch.write("t.tsv", "text\tlabel\na\t\n"),
                            .test = scratch.write("e.csv", "text,label\nb,up\nc,upp\n"),
                            .source = scratch.write("restaurants.tsv", kKnown)};
  expect_parts(message_of([&] { load_dataset(parts); }), {"e.csv:3: ", "'upp'"});
}

TEST(Transfer, LabelsOfTheTrainingTextsAreNotLookedAt) {
  const Scratch scratch;
  const Dataset data = load_two(scratch,
                                "text\tlabel\tsplit\ngood disk\t\ttrain\nloud disk\t?\tval\n"
                                "bad disk\tdown\ttest\n");
  EXPECT_THAT(data.labels, ElementsAre("down", "up"));
  EXPECT_EQ(data.train.size(), 4u);
  EXPECT_EQ(data.train.back().label, "");
  EXPECT_EQ(data.test.at(0).label, "down");
}

TEST(Extra, ItsTrainingRowsAreLearnedFromTooAndNothingElse) {
  const Scratch scratch;
  const std::string own = "text\tlabel\tsplit\ngood disk\tup\ttrain\nbad disk\tdown\ttrain\n";
  const DataSource source = {.data = scratch.write("laptops.tsv", own + "a disk\tup\ttest\n"),
                             .extra = scratch.write("restaurants.tsv", kKnown),
                             .val_fraction = 0.5};
  const Dataset data = load_dataset(source);
  std::vector<std::string> last;
  for (const Example& example : data.train) last.push_back(example.inputs.at("text").back());
  EXPECT_THAT(last, ElementsAre("disk", "disk", "soup", "soup")) << "one of a label is kept";
  EXPECT_EQ(data.test.size(), 1u);
  // What is held out does not depend on it.
  DataSource alone = source;
  alone.extra = "";
  EXPECT_EQ(load_dataset(alone).val.size(), data.val.size());
}

TEST(Extra, ALabelThatTheDataLacksIsRefused) {
  const Scratch scratch;
  const DataSource source = {
      .data = scratch.write("a.tsv", "text\tlabel\tsplit\nx\tup\ttrain\nx\tdowm\ttrain\n"),
      .extra = scratch.write("b.tsv", kKnown)};
  expect_parts(message_of([&] { load_dataset(source); }),
               {"b.tsv:3: ", "task.extra", "'down'", "'dowm'"});
  DataSource graph = source;
  graph.kind = "graph";
  expect_parts(message_of([&] { load_dataset(graph); }), {"task.extra", "'graph'", "one file"});
}

}  // namespace
}  // namespace heed
