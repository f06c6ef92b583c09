#include "heed/metrics/classification.hpp"

#include <gtest/gtest.h>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"

namespace heed::metrics {
namespace {

using Labels = std::vector<std::string>;

// Gold a a a b b c, predicted a a b b c b:
//   a: 2 right of 2 predicted, 3 gold; b: 1 of 3, 2 gold; c: 0 of 1, 1 gold.
const Labels kGold = {"a", "a", "a", "b", "b", "c"};
const Labels kPredicted = {"a", "a", "b", "b", "c", "b"};

TEST(Classification, AveragesAreThoseWorkedOutByHand) {
  EXPECT_DOUBLE_EQ(accuracy(kPredicted, kGold).value, 0.5);
  const auto macro = f1(kPredicted, kGold);
  EXPECT_DOUBLE_EQ(macro.value, (0.8 + 0.4 + 0.0) / 3);
  EXPECT_DOUBLE_EQ(macro.details.at("precision"), (1 + 1.0 / 3 + 0) / 3);
  EXPECT_DOUBLE_EQ(macro.details.at("recall"), (2.0 / 3 + 0.5 + 0) / 3);
  EXPECT_DOUBLE_EQ(macro.details.at("f1[b]"), 0.4);
  EXPECT_DOUBLE_EQ(macro.details.at("support[a]"), 3);
  EXPECT_DOUBLE_EQ(f1(kPredicted, kGold, {.average = Average::micro}).value, 0.5);
  EXPECT_DOUBLE_EQ(f1(kPredicted, kGold, {.average = Average::weighted}).value,
                   (3 * 0.8 + 2 * 0.4 + 0) / 6);
  const ClassificationOptions binary{.average = Average::binary, .positive = "b"};
  EXPECT_DOUBLE_EQ(precision(kPredicted, kGold, binary).value, 1.0 / 3);
  EXPECT_DOUBLE_EQ(recall(kPredicted, kGold, binary).value, 0.5);
}

TEST(Classification, ZeroDivisionIsZero) {
  const Labels gold = {"a", "a"}, predicted = {"b", "b"};
  EXPECT_EQ(precision(predicted, gold).value, 0);
  EXPECT_EQ(recall(predicted, gold).value, 0);
  EXPECT_EQ(f1(predicted, gold).value, 0);
  EXPECT_EQ(f1({}, {}).value, 0);
  EXPECT_EQ(accuracy({}, {}).value, 0);
}

TEST(Classification, AClassThatNeverOccursCountsOnlyWhenNamed) {
  const Labels all = {"a", "a"};
  EXPECT_EQ(f1(all, all).value, 1);
  EXPECT_EQ(f1(all, all, {.labels = {"a", "b"}}).value, 0.5);
  EXPECT_EQ(f1(all, all, {.average = Average::weighted, .labels = {"a", "b"}}).value, 1);
}

TEST(Classification, MicroF1OfSingleLabelsIsAccuracy) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    Labels predicted, gold;
    for (std::size_t i = random.below(30) + 1; i > 0; --i) {
      predicted.push_back(std::string(1, static_cast<char>('a' + random.below(4))));
      gold.push_back(std::string(1, static_cast<char>('a' + random.below(5))));
    }
    EXPECT_DOUBLE_EQ(f1(predicted, gold, {.average = Average::micro}).value,
                     accuracy(predicted, gold).value);
  }
}

TEST(Classification, NamesWhatItWasMeasuredWith) {
  EXPECT_EQ(f1(kPredicted, kGold).signature, "f1|average:macro|zero:0|v:" + std::string(version()));
  const ClassificationOptions odd{.average = Average::binary, .positive = "x|y\n"};
  const Labels labels = {"x|y\n"};
  EXPECT_EQ(f1(labels, labels, odd).signature,
            "f1|average:binary|positive:x_y_|zero:0|v:" + std::string(version()));
}

TEST(Classification, RejectsUnequalLengthsAndUnknownNames) {
  EXPECT_THROW(f1(Labels{"a"}, kGold), InputError);
  EXPECT_THROW(accuracy(Labels{"a"}, kGold), InputError);
  EXPECT_THROW(f1(kPredicted, kGold, {.average = Average::binary, .positive = "z"}), InputError);
  EXPECT_THROW(parse_average("marco"), InputError);
  for (const Average average :
       {Average::macro, Average::micro, Average::weighted, Average::binary}) {
    EXPECT_EQ(parse_average(to_string(average)), average);
  }
}

TEST(Classification, ResamplingEverythingGivesTheValueBack) {
  const std::vector<std::size_t> all = {5, 4, 3, 2, 1, 0};
  for (const Average average : {Average::macro, Average::micro, Average::weighted}) {
    const auto metric = f1(kPredicted, kGold, {.average = average});
    EXPECT_DOUBLE_EQ(metric.resample(all), metric.value);
  }
  // Twice segment 3 (b, right): a corpus of one class, all right.
  EXPECT_EQ(f1(kPredicted, kGold).resample(std::vector<std::size_t>{3, 3}), 1);
}

}  // namespace
}  // namespace heed::metrics
