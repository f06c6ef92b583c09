#include "heed/metrics/alignment.hpp"

#include <gtest/gtest.h>

#include "heed/base/error.hpp"
#include "heed/metrics/ranking.hpp"

#include <cmath>

namespace heed::metrics {
namespace {

Metric measure(std::string_view hypothesis, std::string_view gold) {
  return aer(std::vector{parse_pharaoh(hypothesis)}, std::vector{parse_pharaoh(gold)});
}

TEST(Pharaoh, IsWrittenAsItIsRead) {
  for (const char* line : {"", "0-0", "0-1 2-0 1?1 3?2"})
    EXPECT_EQ(to_pharaoh(parse_pharaoh(line)), line);
  EXPECT_EQ(to_pharaoh(parse_pharaoh(" 2-0\t0-1 2-0 ")), "0-1 2-0");
}

TEST(Pharaoh, ReadsSureAndPossibleLinks) {
  const Alignment alignment = parse_pharaoh(" 3-1 0-0\t2?5 0-0 ");
  EXPECT_EQ(alignment.sure, (std::vector<Link>{{0, 0}, {3, 1}}));
  EXPECT_EQ(alignment.possible, (std::vector<Link>{{2, 5}}));
  EXPECT_TRUE(parse_pharaoh("").sure.empty());
}

TEST(Pharaoh, RejectsWhatIsNoLink) {
  for (const char* bad :
       {"1", "1-", "-1", "1--2", "1-2-3", "a-b", "1:2", "1-2x", "1.0-2", "99999999999-1"}) {
    EXPECT_THROW(parse_pharaoh(bad), InputError) << bad;
  }
}

TEST(Aer, IsTheFormulaWorkedOutByHand) {
  // A has 3 links: one sure, one possible, one wrong; two are sure.
  const auto metric = measure("0-0 1-2 4-4", "0-0 1-1 1?2");
  EXPECT_DOUBLE_EQ(metric.value, 1 - (1.0 + 2.0) / (3 + 2));
  EXPECT_DOUBLE_EQ(metric.details.at("precision"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(metric.details.at("recall"), 1.0 / 2);
}

TEST(Aer, IsZeroForTheSureLinksAndForAnythingBetweenSureAndPossible) {
  EXPECT_EQ(measure("0-0 1-1", "0-0 1-1 2?2").value, 0);
  EXPECT_EQ(measure("0-0 1-1 2-2", "0-0 1-1 2?2").value, 0);
}

TEST(Aer, CountsARepeatedLinkOnceAndSureBeforePossible) {
  EXPECT_EQ(measure("0-0 0-0", "0-0").details.at("links"), 1);
  EXPECT_EQ(measure("0-0", "0-0 0?0").value, 0);
}

TEST(Aer, DefinesEmptyAlignments) {
  EXPECT_EQ(measure("", "").value, 0);
  EXPECT_EQ(measure("", "").details.at("precision"), 1);
  EXPECT_EQ(measure("", "0-0").value, 1);
  EXPECT_EQ(measure("", "0-0").details.at("precision"), 0);
  EXPECT_EQ(measure("0-0", "").value, 1);
  EXPECT_EQ(measure("0-0", "0?0").value, 0);
  EXPECT_EQ(aer({}, {}).value, 0);
  EXPECT_THROW(aer(std::vector<Alignment>(1), {}), InputError);
}

TEST(HitRate, LooksAtTheFirstK) {
  const std::vector<Ranking> rankings = {{"a", "b", "c"}, {"x", "y"}, {"q"}};
  const std::vector<Relevant> relevant = {{{"c", 1}}, {{"x", 1}, {"z", 1}}, {}};
  const auto two = hit_rate(rankings, relevant, 2);
  EXPECT_DOUBLE_EQ(two.value, 0.5);
  EXPECT_EQ(two.details.at("skipped"), 1);
  EXPECT_DOUBLE_EQ(two.details.at("recall"), 0.25);
  const auto three = hit_rate(rankings, relevant, 3);
  EXPECT_DOUBLE_EQ(three.value, 1);
  EXPECT_DOUBLE_EQ(three.details.at("mrr"), (1.0 / 3 + 1) / 2);
  EXPECT_EQ(hit_rate({}, {}, 1).value, 0);
  EXPECT_THROW(hit_rate(rankings, relevant, 0), InputError);
}

TEST(Ndcg, IsTheFormulaWorkedOutByHand) {
  const std::vector<Ranking> rankings = {{"a", "b", "c"}};
  const std::vector<Relevant> graded = {{{"a", 1}, {"c", 3}, {"d", 2}}};
  const double gained = 1 + 3 / std::log2(4), best = 3 + 2 / std::log2(3) + 1 / std::log2(4);
  EXPECT_DOUBLE_EQ(ndcg(rankings, graded, 3).value, gained / best);
  EXPECT_DOUBLE_EQ(ndcg(rankings, graded, 1).value, 1.0 / 3);
  EXPECT_EQ(ndcg(std::vector<Ranking>{{"c", "d", "a"}}, graded, 3).value, 1);
}

TEST(Ndcg, CountsARepeatedItemOnce) {
  const std::vector<Relevant> relevant = {{{"a", 1}, {"b", 1}}};
  const double once = 1 / (1 + 1 / std::log2(3));
  EXPECT_DOUBLE_EQ(ndcg(std::vector<Ranking>{{"a", "a", "a"}}, relevant, 3).value, once);
  EXPECT_THROW(ndcg(std::vector<Ranking>{{"a"}}, std::vector<Relevant>{{{"a", -1}}}, 3),
               InputError);
}

}  // namespace
}  // namespace heed::metrics
