#include "heed/metrics/bootstrap.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"
#include "heed/metrics/bleu.hpp"
#include "heed/metrics/classification.hpp"
#include "heed/metrics/image.hpp"

namespace heed::metrics {
namespace {

using Labels = std::vector<std::string>;

/// n labels of which about `share` are right.
Metric coin(std::size_t n, double share, std::uint64_t seed) {
  Random random(seed);
  Labels predicted, gold(n, "x");
  for (std::size_t i = 0; i < n; ++i) predicted.push_back(random.chance(share) ? "x" : "y");
  return accuracy(predicted, gold);
}

TEST(Bootstrap, OfAShareIsAsWideAsTheBinomial) {
  const Metric metric = coin(400, 0.7, 1);
  const Interval interval = bootstrap(metric, {.resamples = 4000, .seed = 2});
  const double deviation = std::sqrt(metric.value * (1 - metric.value) / 400);
  EXPECT_NEAR(interval.mean, metric.value, 4 * deviation / std::sqrt(4000));
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.96 * deviation, 0.1 * 2 * 1.96 * deviation);
  EXPECT_LT(interval.low, metric.value);
  EXPECT_GT(interval.high, metric.value);
}

TEST(Bootstrap, CoversTheTruthAboutAsOftenAsItSays) {
  int covered = 0;
  constexpr int kWorlds = 300;
  for (std::uint64_t world = 0; world < kWorlds; ++world) {
    const Interval interval =
        bootstrap(coin(200, 0.6, 1000 + world), {.resamples = 300, .seed = world});
    covered += interval.low <= 0.6 && 0.6 <= interval.high;
  }
  // 95 % of 300 are 285, with a deviation of 3.8.
  EXPECT_GE(covered, 285 - 16);
  EXPECT_LE(covered, 300);
}

TEST(Bootstrap, DependsOnTheSeedAlone) {
  const Metric metric = coin(50, 0.5, 3);
  const Interval first = bootstrap(metric, {.seed = 7}), again = bootstrap(metric, {.seed = 7});
  EXPECT_EQ(first.low, again.low);
  EXPECT_EQ(first.mean, again.mean);
  EXPECT_NE(first.mean, bootstrap(metric, {.seed = 8}).mean);
}

TEST(Bootstrap, HasNoWidthWhenSegmentsAreAlike) {
  const std::vector<std::string> hypotheses(5, "a b c d e");
  const std::vector<std::vector<std::string>> references = {
      std::vector<std::string>(5, "a b c d x")};
  const Metric metric = bleu(hypotheses, references);
  const Interval interval = bootstrap(metric);
  EXPECT_DOUBLE_EQ(interval.low, metric.value);
  EXPECT_DOUBLE_EQ(interval.high, metric.value);
  const Interval none = bootstrap(accuracy({}, {}));
  EXPECT_EQ(none.low, 0);
  EXPECT_EQ(none.high, 0);
}

TEST(PairedBootstrap, FindsARealDifferenceAndNoneBetweenEqualSystems) {
  const Metric good = coin(500, 0.9, 1), bad = coin(500, 0.6, 2);
  const PairedResult different = paired_bootstrap(good, bad);
  EXPECT_DOUBLE_EQ(different.difference, good.value - bad.value);
  EXPECT_DOUBLE_EQ(different.p_value, 1.0 / 1001);
  EXPECT_EQ(different.wins, 1);
  EXPECT_GT(different.interval.low, 0);
  const PairedResult same = paired_bootstrap(good, good);
  EXPECT_EQ(same.difference, 0);
  EXPECT_EQ(same.p_value, 1);
  EXPECT_EQ(same.wins, 0.5);
  const PairedResult swapped = paired_bootstrap(bad, good);
  EXPECT_DOUBLE_EQ(swapped.p_value, different.p_value);
  EXPECT_DOUBLE_EQ(swapped.interval.low, -different.interval.high);
}

TEST(PairedBootstrap, RejectsTooOftenOnlyAsOftenAsItSays) {
  int rejected = 0;
  constexpr int kWorlds = 300;
  for (std::uint64_t world = 0; world < kWorlds; ++world) {
    const Metric a = coin(150, 0.7, 2 * world), b = coin(150, 0.7, 2 * world + 1);
    rejected += paired_bootstrap(a, b, {.resamples = 200, .seed = world}).p_value <= 0.05;
  }
  // 5 % of 300 are 15, with a deviation of 3.8: far from none and from many.
  EXPECT_GT(rejected, 2);
  EXPECT_LT(rejected, 31);
}

TEST(PairedBootstrap, SharesTheResamples) {
  // B is A with one more error in every segment pair: on the same draws A is never below B.
  Labels gold(60, "x"), a = gold, b = gold;
  for (std::size_t i = 0; i < 20; ++i) a[i] = b[i] = "y";
  for (std::size_t i = 20; i < 30; ++i) b[i] = "y";
  const PairedResult result = paired_bootstrap(accuracy(a, gold), accuracy(b, gold));
  EXPECT_GE(result.interval.low, 0);
  EXPECT_GT(result.wins, 0.99);
}

TEST(Bootstrap, RejectsWhatCannotBeResampledOrCompared) {
  EXPECT_THROW(bootstrap(Metric{.name = "none"}), InputError);
  EXPECT_THROW(bootstrap(coin(5, 0.5, 1), {.resamples = 0}), InputError);
  EXPECT_THROW(bootstrap(coin(5, 0.5, 1), {.confidence = 1}), InputError);
  EXPECT_THROW(paired_bootstrap(coin(5, 0.5, 1), coin(6, 0.5, 1)), InputError);
  const Labels labels = {"x"};
  EXPECT_THROW(
      paired_bootstrap(f1(labels, labels), f1(labels, labels, {.average = Average::micro})),
      InputError);
}

TEST(Bootstrap, StandsInDetailsAndSignature) {
  Metric metric = coin(50, 0.5, 1);
  add_comparison(metric, coin(50, 0.6, 2), {.resamples = 100, .seed = 4});
  for (const char* key : {"ci_low", "ci_high", "ci_mean", "other", "difference", "difference_low",
                          "difference_high", "p_value", "wins"}) {
    EXPECT_TRUE(metric.details.contains(key)) << key;
  }
  EXPECT_EQ(metric.signature, "accuracy|bs:100|seed:4|ci:0.95|v:" + std::string(version()));
}

TEST(Bootstrap, SurvivesInfiniteValues) {
  const Image image{.width = 1, .height = 1, .pixels = {9}};
  const std::vector<Image> images = {image, image};
  const Metric metric = psnr(images, images);
  EXPECT_TRUE(std::isinf(bootstrap(metric).low));
  EXPECT_EQ(paired_bootstrap(metric, metric).p_value, 1);
}

}  // namespace
}  // namespace heed::metrics
