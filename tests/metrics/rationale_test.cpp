#include "heed/metrics/rationale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"
#include "heed/metrics/rank.hpp"

namespace heed::metrics {
namespace {

Marks marks(std::string_view text) {
  Marks result;
  for (const char c : text) result.push_back(c == '1');
  return result;
}

TEST(TokenF1, IsTheMeanOfTheDocumentsF1) {
  const std::vector<Marks> predicted = {marks("1100"), marks("0001"), marks("000")};
  const std::vector<Marks> gold = {marks("0110"), marks("0001"), marks("000")};
  const auto metric = token_f1(predicted, gold);
  EXPECT_DOUBLE_EQ(metric.value, (0.5 + 1.0) / 2);  // the third document has no mark: left out
  EXPECT_EQ(metric.details.at("skipped"), 1);
  EXPECT_DOUBLE_EQ(metric.details.at("micro_f1"), 2.0 * 2 / (3 + 3));
  EXPECT_EQ(token_f1({}, {}).value, 0);
  EXPECT_EQ(token_f1(std::vector<Marks>{marks("11")}, std::vector<Marks>{marks("00")}).value, 0);
}

TEST(IouF1, CountsSpansThatOverlapByHalf) {
  // Predicted [0,3) and [5,6); gold [1,3) and [7,8): the first overlaps by 2/3, the second by 0.
  const std::vector<Marks> predicted = {marks("11100100")}, gold = {marks("01100001")};
  EXPECT_DOUBLE_EQ(iou_f1(predicted, gold).value, 0.5);
  EXPECT_DOUBLE_EQ(iou_f1(predicted, gold, 0.7).value, 0);
  EXPECT_DOUBLE_EQ(iou_f1(predicted, gold, 2.0 / 3).value, 0.5);
  EXPECT_EQ(iou_f1(predicted, predicted).value, 1);
  EXPECT_EQ(iou_f1(std::vector<Marks>{marks("000")}, std::vector<Marks>{marks("000")}).value, 0);
  EXPECT_THROW(iou_f1(predicted, gold, 0), InputError);
}

TEST(IouF1, AveragesPrecisionAndRecallOverTheirOwnDocuments) {
  // Document 1: found 1 of 1 predicted, 1 of 2 gold. Document 2: nothing predicted, 1 gold.
  const std::vector<Marks> predicted = {marks("1000"), marks("0000")};
  const std::vector<Marks> gold = {marks("1001"), marks("0100")};
  const auto metric = iou_f1(predicted, gold);
  EXPECT_DOUBLE_EQ(metric.details.at("precision"), 1);
  EXPECT_DOUBLE_EQ(metric.details.at("recall"), 0.25);
  EXPECT_DOUBLE_EQ(metric.value, 2 * 0.25 / 1.25);
}

TEST(Auprc, IsTheAreaWorkedOutByHand) {
  // Order: gold, other, gold, other. Points (recall, precision): (0, 1) (.5, 1) (.5, .5) (1, 2/3)
  // (1, .5): trapezoids .5 + 0 + .5 · (.5 + 2/3) / 2.
  const std::vector<Weights> weights = {{0.9, 0.5, 0.3, 0.1}};
  const std::vector<Marks> gold = {marks("1010")};
  const auto metric = auprc(weights, gold);
  EXPECT_DOUBLE_EQ(metric.value, 0.5 + 0.5 * (0.5 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(metric.details.at("average_precision"), 0.5 + 0.5 * 2 / 3);
  EXPECT_DOUBLE_EQ(metric.details.at("roc_auc"), 0.75);
}

TEST(Auprc, TiesEnterTogetherAndUnmarkedDocumentsAreLeftOut) {
  // One threshold only: from (0, 1) straight to (1, .25).
  const std::vector<Weights> weights = {{0.2, 0.2, 0.2, 0.2}, {0.5, 0.5}};
  const auto metric = auprc(weights, std::vector<Marks>{marks("0100"), marks("00")});
  EXPECT_DOUBLE_EQ(metric.value, (1 + 0.25) / 2);
  EXPECT_DOUBLE_EQ(metric.details.at("roc_auc"), 0.5);
  EXPECT_EQ(metric.details.at("skipped"), 1);
}

TEST(Correctness, IsTheShareInsideTheRegion) {
  const std::vector<Weights> weights = {{0.1, 0.2, 0.3, 0.4}, {2, 6}, {1, 1}};
  const std::vector<Weights> gold = {{0, 1, 1, 0}, {3, 0}, {0, 0}};
  const auto metric = correctness(weights, gold);
  EXPECT_NEAR(metric.value, (0.5 + 0.25) / 2, 1e-15);
  EXPECT_DOUBLE_EQ(metric.details.at("chance"), 0.5);
  EXPECT_EQ(metric.details.at("skipped"), 1);
  // KL of (½, ½) from (.2, .3), and of (1) from (.25).
  const double first = 0.5 * std::log(0.5 / 0.2) + 0.5 * std::log(0.5 / 0.3);
  EXPECT_NEAR(metric.details.at("kl"), (first + std::log(4)) / 2, 1e-9);
}

TEST(Correctness, IsFiniteWithoutAnyWeightAndEqualsOneInside) {
  const auto none = correctness(std::vector<Weights>{{0, 0}}, std::vector<Weights>{{1, 0}});
  EXPECT_EQ(none.value, 0);
  EXPECT_TRUE(std::isfinite(none.details.at("kl")));
  const std::vector<Weights> same = {{0.7, 0.2, 0.1}};
  const auto equal = correctness(same, same);
  EXPECT_DOUBLE_EQ(equal.value, 1);
  EXPECT_NEAR(equal.details.at("kl"), 0, 1e-11);
  EXPECT_DOUBLE_EQ(equal.details.at("tau"), 1);
}

TEST(Rationale, RejectsWeightsThatAreNone) {
  const std::vector<Weights> gold = {{1, 0}};
  for (const double bad :
       {-0.1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(correctness(std::vector<Weights>{{bad, 1}}, gold), InputError) << bad;
    EXPECT_THROW(auprc(std::vector<Weights>{{bad, 1}}, std::vector<Marks>{marks("10")}), InputError)
        << bad;
  }
  EXPECT_THROW(correctness(std::vector<Weights>{{1}}, gold), InputError);
  EXPECT_THROW(token_f1(std::vector<Marks>{marks("1")}, std::vector<Marks>{marks("10")}),
               InputError);
}

// Every pair looked at, straight from the definition.
std::optional<double> plain_tau(std::span<const double> a, std::span<const double> b) {
  double sum = 0, untied_a = 0, untied_b = 0;
  const auto sign = [](double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; };
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      sum += sign(a[i] - a[j]) * sign(b[i] - b[j]);
      untied_a += a[i] != a[j];
      untied_b += b[i] != b[j];
    }
  }
  if (untied_a == 0 || untied_b == 0) return std::nullopt;
  return sum / std::sqrt(untied_a * untied_b);
}

TEST(KendallTau, EqualsTheDefinitionOnEveryPair) {
  Random random(5);
  int defined = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = random.below(12), levels = 1 + random.below(6);
    std::vector<double> a, b;
    for (std::size_t i = 0; i < n; ++i) {
      a.push_back(static_cast<double>(random.below(levels)));
      b.push_back(static_cast<double>(random.below(levels)));
    }
    const auto expected = plain_tau(a, b), got = kendall_tau(a, b);
    ASSERT_EQ(got.has_value(), expected.has_value());
    defined += got.has_value();
    if (got) {
      ASSERT_NEAR(*got, *expected, 1e-14);
    }
  }
  EXPECT_GT(defined, 1000);
}

TEST(SpearmanRho, KnowsOrderAndTies) {
  const std::vector<double> up = {1, 2, 3, 4}, down = {8, 6, 4, 1}, tied = {1, 1, 2, 2};
  EXPECT_DOUBLE_EQ(*spearman_rho(up, up), 1);
  EXPECT_DOUBLE_EQ(*spearman_rho(up, down), -1);
  EXPECT_NEAR(*spearman_rho(up, tied), 4 / std::sqrt(5.0 * 4), 1e-15);
  EXPECT_FALSE(spearman_rho(up, std::vector<double>{3, 3, 3, 3}));
  EXPECT_FALSE(spearman_rho({}, {}));
}

}  // namespace
}  // namespace heed::metrics
