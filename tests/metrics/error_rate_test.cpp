#include "heed/metrics/error_rate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"
#include "heed/base/words.hpp"
#include "heed/metrics/perplexity.hpp"

namespace heed::metrics {
namespace {

using Lines = std::vector<std::string>;
using References = std::vector<Lines>;

Edits count(std::string_view hypothesis, std::string_view reference) {
  return edits(split_words(hypothesis), split_words(reference));
}

TEST(Edits, AreThoseOfACheapestAlignmentWithMostHits) {
  EXPECT_EQ(count("a b c", "a b c"), (Edits{3, 0, 0, 0}));
  EXPECT_EQ(count("a x c d", "a b c"), (Edits{2, 1, 0, 1}));
  EXPECT_EQ(count("", "a b"), (Edits{0, 0, 2, 0}));
  EXPECT_EQ(count("a b", ""), (Edits{0, 0, 0, 2}));
  // Two substitutions, or one deletion and one insertion round a hit: both cost two.
  EXPECT_EQ(count("b a", "a b"), (Edits{1, 0, 1, 1}));
}

TEST(Edits, FillBothSides) {
  Random random(11);
  for (int round = 0; round < 500; ++round) {
    Lines a, b;
    for (std::size_t i = random.below(9); i > 0; --i) a.push_back(std::to_string(random.below(4)));
    for (std::size_t i = random.below(9); i > 0; --i) b.push_back(std::to_string(random.below(4)));
    const Edits e = edits(a, b), back = edits(b, a);
    EXPECT_EQ(e.hits + e.substitutions + e.insertions, a.size());
    EXPECT_EQ(e.hits + e.substitutions + e.deletions, b.size());
    EXPECT_EQ(back, (Edits{e.hits, e.substitutions, e.insertions, e.deletions}));
  }
}

TEST(Wer, SumsErrorsAndWordsOverTheCorpus) {
  const auto metric = wer(Lines{"a b c", "x"}, References{{"a b d", "x y z"}});
  EXPECT_DOUBLE_EQ(metric.value, 3.0 / 6);
  EXPECT_EQ(metric.details.at("substitutions"), 1);
  EXPECT_EQ(metric.details.at("deletions"), 2);
  EXPECT_EQ(metric.details.at("sentence_error_rate"), 1);
}

TEST(Wer, IsDefinedForEmptyReferences) {
  EXPECT_EQ(wer(Lines{""}, References{{""}}).value, 0);
  EXPECT_EQ(wer(Lines{"a b"}, References{{""}}).value, 2);
  EXPECT_DOUBLE_EQ(wer(Lines{"a b", "c"}, References{{"", "c d"}}).value, 3.0 / 2);
  EXPECT_EQ(wer(Lines{}, References{{}}).value, 0);
  EXPECT_THROW(wer(Lines{"a"}, References{}), InputError);
  EXPECT_THROW(wer(Lines{"a"}, References{{"a", "b"}}), InputError);
}

TEST(Wer, TakesTheReferenceWithTheLowestRate) {
  const auto metric = wer(Lines{"a b"}, References{{"a"}, {"a b c d"}, {"a c"}});
  EXPECT_DOUBLE_EQ(metric.value, 0.5);
  EXPECT_EQ(metric.details.at("reference_words"), 4);  // 2 of 4, before 1 of 2: the first at a tie
}

TEST(Per, HasBothMeaningsAndSaysWhich) {
  const Lines hypothesis = {"b a c"};
  const References reference = {{"a b"}};
  const auto phoneme = per(hypothesis, reference);
  const auto bag = per(hypothesis, reference, PerMode::position_independent);
  EXPECT_DOUBLE_EQ(phoneme.value, 2.0 / 2);
  EXPECT_DOUBLE_EQ(bag.value, 1.0 / 2);
  EXPECT_NE(phoneme.signature, bag.signature);
  // Repeated words are counted, not collapsed: max(3, 2) − 1.
  EXPECT_DOUBLE_EQ(per(Lines{"a a a"}, References{{"a b"}}, PerMode::position_independent).value,
                   1);
}

TEST(Perplexity, WeighsTokensNotSegments) {
  const std::vector<std::vector<double>> logs = {
      {std::log(0.5), std::log(0.5), std::log(0.5)}, {std::log(0.125)}, {}};
  const auto metric = perplexity(logs);
  EXPECT_NEAR(metric.value, std::pow(2, 6.0 / 4), 1e-12);
  EXPECT_NEAR(metric.details.at("bits"), 1.5, 1e-12);
  EXPECT_NEAR(metric.details.at("segment_mean"), (2 + 8) / 2.0, 1e-12);
}

TEST(Perplexity, OfAUniformModelIsItsVocabulary) {
  const std::vector<std::vector<double>> logs(7, std::vector<double>(5, -std::log(1000)));
  EXPECT_NEAR(perplexity(logs).value, 1000, 1e-9);
}

TEST(Perplexity, DefinesTheEdges) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(perplexity({}).value, 1);
  EXPECT_EQ(perplexity(std::vector<std::vector<double>>{{-kInf, -1}}).value, kInf);
  EXPECT_THROW(perplexity(std::vector<std::vector<double>>{{0.1}}), InputError);
  EXPECT_THROW(perplexity(std::vector<std::vector<double>>{{std::nan("")}}), InputError);
}

}  // namespace
}  // namespace heed::metrics
