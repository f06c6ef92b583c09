#include "heed/metrics/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"
#include "heed/metrics/bleu.hpp"
#include "heed/metrics/classification.hpp"
#include "heed/metrics/error_rate.hpp"
#include "heed/metrics/student.hpp"

namespace heed::metrics {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(Student, HasTheTailsOfTheTables) {
  // scipy.stats.t.sf(t, df) * 2
  EXPECT_NEAR(student_two_sided(2.0, 3), 0.13932596855884305, 1e-14);
  EXPECT_NEAR(student_two_sided(-0.5, 7.5), 0.6314109646224545, 1e-13);
  EXPECT_NEAR(student_two_sided(30, 2), 0.001109262681959659, 1e-15);
  EXPECT_NEAR(student_two_sided(1.96, 1e6), 0.04999606758526985, 1e-9);
  // One degree is Cauchy's: the tail is known in closed form.
  for (const double t : {1e-6, 0.3, 1.0, 17.0, 1e8})
    EXPECT_NEAR(student_two_sided(t, 1), 2 * std::atan(1 / t) / std::numbers::pi, 1e-14) << t;
  EXPECT_EQ(student_two_sided(0, 4), 1);
  EXPECT_EQ(student_two_sided(std::numeric_limits<double>::infinity(), 4), 0);
  EXPECT_TRUE(std::isnan(student_two_sided(kNone, 4)));
  EXPECT_TRUE(std::isnan(student_two_sided(1, 0)));
}

TEST(Student, FindsTheCriticalValueOfEveryTail) {
  EXPECT_NEAR(student_critical(0.95, 2), 4.302652729749462, 1e-11);
  EXPECT_NEAR(student_critical(0.95, 4), 2.7764451051977934, 1e-11);
  EXPECT_NEAR(student_critical(0.99, 17.3), 2.892027641127293, 1e-11);
  for (const double df : {0.7, 1.0, 2.0, 11.5, 400.0}) {
    for (const double confidence : {0.1, 0.5, 0.9, 0.95, 0.999})
      EXPECT_NEAR(student_two_sided(student_critical(confidence, df), df), 1 - confidence, 1e-12);
  }
}

TEST(MeanInterval, IsStudentsAndNeedsTwo) {
  const std::vector<double> values = {1, 2, 3, 4};
  const Interval interval = mean_interval(values);
  EXPECT_DOUBLE_EQ(interval.mean, 2.5);
  EXPECT_NEAR(interval.high - 2.5, 3.1824463052837078 * std::sqrt(5.0 / 3 / 4), 1e-11);
  EXPECT_NEAR(interval.low + interval.high, 5, 1e-14);
  const Interval one = mean_interval(std::vector<double>{7.0});
  EXPECT_EQ(one.mean, 7);
  EXPECT_TRUE(std::isnan(one.low) && std::isnan(one.high));
  EXPECT_TRUE(std::isnan(mean_interval({}).mean));
}

TEST(SegmentScores, OfAMeanAreItsTerms) {
  const std::vector<std::string> predicted = {"a", "b", "b", "a"}, gold = {"a", "b", "a", "b"};
  EXPECT_EQ(segment_scores(accuracy(predicted, gold)), (std::vector<double>{1, 1, 0, 0}));
}

TEST(SegmentScores, OfARatioArePseudoValues) {
  // Word error rate: errors 1, 0, 1 of lengths 2, 3, 4; all: 2/9, without each: 1/7, 2/6, 1/5.
  const std::vector<std::string> said = {"a x", "a b c", "a b c x"};
  const std::vector<std::vector<std::string>> right = {{"a b", "a b c", "a b c d"}};
  const std::vector<double> scores = segment_scores(wer(said, right));
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_NEAR(scores[0], 3 * 2.0 / 9 - 2 * 1.0 / 7, 1e-14);
  EXPECT_NEAR(scores[1], 3 * 2.0 / 9 - 2 * 2.0 / 6, 1e-14);
  EXPECT_NEAR(scores[2], 3 * 2.0 / 9 - 2 * 1.0 / 5, 1e-14);
}

TEST(SegmentScores, OfBleuHaveItsMeanWhichSentenceBleuHasNot) {
  Random random(4);
  std::vector<std::string> said;
  std::vector<std::vector<std::string>> right(1);
  const std::vector<std::string> words = {"the", "cat", "sat", "on", "a", "mat", "red"};
  for (int i = 0; i < 300; ++i) {
    std::string a, b;
    for (std::size_t w = 0, n = 5 + random.below(9); w < n; ++w) {
      const std::string& word = words[random.below(words.size())];
      b += word + " ";
      a += (random.chance(0.8) ? word : words[random.below(words.size())]) + " ";
    }
    said.push_back(a);
    right[0].push_back(b);
  }
  const Metric metric = bleu(said, right);
  double mean = 0, alone = 0;
  const std::vector<double> scores = segment_scores(metric);
  ASSERT_EQ(scores.size(), 300u);
  for (std::size_t i = 0; i < 300; ++i) {
    mean += scores[i] / 300;
    alone += metric.resample(std::span(&i, 1)) / 300;
  }
  EXPECT_NEAR(mean, metric.value, 0.02 * metric.value);
  EXPECT_GT(std::abs(alone - metric.value), 3 * std::abs(mean - metric.value));
}

TEST(SegmentScores, AreNoneWhereNothingCanBeResampled) {
  EXPECT_TRUE(segment_scores(Metric{.name = "none", .value = 1}).empty());
  EXPECT_TRUE(segment_scores(accuracy({}, {})).empty());
}

/// Differences with a part of the seed, of the example, and of both.
struct World {
  double seed_sd, example_sd, rest_sd;
  std::size_t seeds, examples;

  SeedScores draw(Random& random) const {
    const auto normal = [&] {
      return std::sqrt(-2 * std::log(1 - random.uniform())) *
             std::cos(2 * std::numbers::pi * random.uniform());
    };
    std::vector<double> of_examples;
    for (std::size_t i = 0; i < examples; ++i) of_examples.push_back(example_sd * normal());
    SeedScores scores;
    for (std::size_t s = 0; s < seeds; ++s) {
      const double of_seed = seed_sd * normal();
      std::vector<double>& row = scores.emplace_back();
      for (const double part : of_examples) row.push_back(of_seed + part + rest_sd * normal());
    }
    return scores;
  }

  SeedScores zero() const { return SeedScores(seeds, std::vector<double>(examples)); }
};

TEST(CompareCrossed, KeepsItsLevelWhereEitherFactorAloneDoesNot) {
  // Two equal systems, judged by 4 seeds on 60 examples: where seeds differ, a test over examples
  // alone finds what is not there; where examples differ, a test over seeds alone does.
  const auto rejected = [](const World& world) {
    constexpr int kWorlds = 600;
    Random random(5);
    std::array<int, 3> found{};
    for (int w = 0; w < kWorlds; ++w) {
      const CrossedComparison c =
          compare_crossed(world.draw(random), world.zero(), {.flips = 200, .seed = 3});
      found[0] += c.p_value < 0.05;
      found[1] += c.p_examples < 0.05;
      found[2] += c.p_seeds < 0.05;
    }
    return std::array{found[0] / 600.0, found[1] / 600.0, found[2] / 600.0};
  };
  const auto seeds_differ = rejected({.1, .3, .5, 4, 60});
  EXPECT_LT(seeds_differ[0], 0.085);
  EXPECT_GT(seeds_differ[0], 0.015);
  EXPECT_GT(seeds_differ[1], 0.15);
  const auto examples_differ = rejected({0, .5, .3, 4, 60});
  EXPECT_LT(examples_differ[0], 0.085);
  EXPECT_GT(examples_differ[0], 0.015);
  EXPECT_GT(examples_differ[2], 0.3);
}

TEST(CompareCrossed, FindsARealDifferenceAndTheIntervalAgreesWithTheTest) {
  Random random(11);
  const World world{.02, .3, .3, 3, 400};
  SeedScores better = world.draw(random);
  for (auto& row : better) {
    for (double& score : row) score += 0.3;
  }
  const CrossedComparison c = compare_crossed(better, world.zero());
  EXPECT_LT(c.p_value, 0.01);
  EXPECT_GT(c.difference.low, 0);
  EXPECT_LT(c.difference.low, 0.3);
  EXPECT_GT(c.difference.high, 0.3);
  const CrossedComparison swapped = compare_crossed(world.zero(), better);
  EXPECT_DOUBLE_EQ(swapped.p_value, c.p_value);
  EXPECT_DOUBLE_EQ(swapped.difference.low, -c.difference.high);
}

TEST(CompareCrossed, OneSeedIsThePairedTestOverExamples) {
  const SeedScores a = {{1, 0, 1, 1, 1, 0, 1, 1}}, b = {{0, 0, 1, 0, 1, 0, 0, 1}};
  const CrossedComparison c = compare_crossed(a, b);
  EXPECT_NEAR(c.p_value, 0.07960201245519759, 1e-13);  // scipy.stats.ttest_rel
  EXPECT_DOUBLE_EQ(c.p_examples, 0.25);  // three differences, all of one sign: 2 of 8 ways
  EXPECT_TRUE(std::isnan(c.p_seeds));
  EXPECT_EQ(c.df, 7);
}

TEST(CompareCrossed, EqualSystemsAndConstantDifferencesAreNoAccident) {
  const SeedScores scores = {{1, 0, 1}, {0, 0, 1}};
  const CrossedComparison same = compare_crossed(scores, scores);
  EXPECT_EQ(same.p_value, 1);
  EXPECT_EQ(same.p_examples, 1);
  EXPECT_EQ(same.difference.low, 0);
  const SeedScores all = {{1, 1, 1}, {1, 1, 1}}, none = {{0, 0, 0}, {0, 0, 0}};
  EXPECT_DOUBLE_EQ(compare_crossed(all, none).p_value, 0.25);
  EXPECT_TRUE(std::isnan(compare_crossed({{1}, {1}}, {{0}, {0}}).p_value));
}

TEST(CompareCrossed, RefusesWhatIsNotPaired) {
  EXPECT_THROW(compare_crossed({}, {}), InputError);
  EXPECT_THROW(compare_crossed({{1, 2}}, {{1, 2}, {1, 2}}), InputError);
  EXPECT_THROW(compare_crossed({{1, 2}, {1}}, {{1, 2}, {1}}), InputError);
  EXPECT_THROW(compare_crossed({{}}, {{}}), InputError);
}

TEST(Holm, StepsDownAndLeavesOutWhatIsNoComparison) {
  const std::vector<double> p = {0.01, 0.04, kNone, 0.03, 0.005};
  const std::vector<double> corrected = holm(p);
  EXPECT_DOUBLE_EQ(corrected[4], 0.02);
  EXPECT_DOUBLE_EQ(corrected[0], 0.03);
  EXPECT_DOUBLE_EQ(corrected[3], 0.06);
  EXPECT_DOUBLE_EQ(corrected[1], 0.06);  // never below one that came before it
  EXPECT_TRUE(std::isnan(corrected[2]));
  EXPECT_EQ(holm(std::vector<double>{0.9, 0.8}), (std::vector<double>{1, 1}));
  EXPECT_TRUE(holm({}).empty());
}

}  // namespace
}  // namespace heed::metrics
