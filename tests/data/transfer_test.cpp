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
               {"task.source", "'upp'", "restaurants.tsv", "'up'"});
}

}  // namespace
}  // namespace heed
