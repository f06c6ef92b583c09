#include "heed/explain/alignments.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

using metrics::Alignment;
using metrics::parse_pharaoh;
using metrics::to_pharaoh;

std::string combined(const char* forward, const char* reverse, const std::string& method) {
  return to_pharaoh(symmetrise(parse_pharaoh(forward), parse_pharaoh(reverse), method));
}

bool within(const Alignment& small, const Alignment& large) {
  return std::ranges::includes(large.sure, small.sure);
}

Alignment random_links(Random& random, std::uint32_t sources, std::uint32_t targets) {
  Alignment alignment;
  for (std::uint32_t s = 0; s < sources; ++s) {
    for (std::uint32_t t = 0; t < targets; ++t) {
      if (random.chance(0.3)) alignment.sure.push_back({s, t});
    }
  }
  return alignment;
}

TEST(Alignments, EachWordIsLinkedToTheHeaviestAndTheFirstOfEqualOnes) {
  const WordWeights weights{
      .sources = 3, .targets = 3, .data = {0.2f, 0.5f, 0.3f, 0.4f, 0.2f, 0.4f, 0, 0, 0}};
  EXPECT_EQ(to_pharaoh(links_of(weights)), "0-1 1-0");
  EXPECT_EQ(to_pharaoh(links_of(weights, 0.3)), "0-1 1-0 2-0 2-1");
  EXPECT_EQ(to_pharaoh(links_of({.sources = 0, .targets = 2})), "");
}

TEST(Alignments, PiecesMakeWordsBySumAndMean) {
  // Two words of the text with 2 and 1 pieces, two of the translation with 1 and 2.
  const WordWeights pieces{
      .sources = 3, .targets = 3, .data = {0.3f, 0.3f, 0.4f, 0.2f, 0.2f, 0.6f, 0.0f, 0.2f, 0.8f}};
  const std::vector<std::size_t> sources = {0, 2, 3}, targets = {0, 1, 3};
  const WordWeights sum = merge_pieces(pieces, sources, targets, false);
  EXPECT_FLOAT_EQ(sum.at(0, 0), 0.6f);
  EXPECT_FLOAT_EQ(sum.at(0, 1), 0.4f);
  EXPECT_FLOAT_EQ(sum.at(1, 0), 0.3f);
  EXPECT_FLOAT_EQ(sum.at(1, 1), 0.7f);
  EXPECT_EQ(to_pharaoh(links_of(sum)), "0-0 1-1");
  const WordWeights mean = merge_pieces(pieces, sources, targets, true);
  EXPECT_FLOAT_EQ(mean.at(0, 0), 0.3f);
  EXPECT_EQ(to_pharaoh(links_of(mean)), "1-0 1-1");
}

TEST(Alignments, WordsThatChooseEachOtherAgree) {
  EXPECT_DOUBLE_EQ(mutual_agreement({.sources = 2, .targets = 2, .data = {0, 1, 1, 0}}), 1);
  // Rows choose 0-0 and 0-1, columns 0-0 and 1-1: one of two.
  EXPECT_DOUBLE_EQ(mutual_agreement({.sources = 2, .targets = 2, .data = {0.9f, 0.1f, 0.6f, 0.4f}}),
                   0.5);
  EXPECT_DOUBLE_EQ(mutual_agreement({.sources = 2, .targets = 1, .data = {0, 0}}), 0);
}

TEST(Symmetrise, GrowsFromTheIntersectionAsThePaperSays) {
  const char *forward = "0-0 1-1 2-1 4-4 6-2", *reverse = "0-0 1-1 1-2 5-5 3-6";
  EXPECT_EQ(combined(forward, reverse, "intersection"), "0-0 1-1");
  EXPECT_EQ(combined(forward, reverse, "union"), "0-0 1-1 1-2 2-1 3-6 4-4 5-5 6-2");
  // 2-1 has a new word of the text, 1-2 one of the translation; 4-4 touches nothing.
  EXPECT_EQ(combined(forward, reverse, "grow-diag"), "0-0 1-1 1-2 2-1");
  EXPECT_EQ(combined(forward, reverse, "grow-diag-final"), "0-0 1-1 1-2 2-1 3-6 4-4 5-5 6-2");
  // 6-2 ends at a word that has a link.
  EXPECT_EQ(combined(forward, reverse, "grow-diag-final-and"), "0-0 1-1 1-2 2-1 3-6 4-4 5-5");
  EXPECT_EQ(combined(forward, reverse, "grow-diag-strict"), "0-0 1-1");
  EXPECT_EQ(combined("0-0 1-1", "0-0 2-2", "grow-diag-strict"), "0-0 1-1 2-2");
}

TEST(Symmetrise, EveryMethodLiesBetweenIntersectionAndUnion) {
  Random random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const auto sources = static_cast<std::uint32_t>(random.below(8)),
               targets = static_cast<std::uint32_t>(random.below(8));
    const Alignment forward = random_links(random, sources, targets),
                    reverse = random_links(random, sources, targets);
    const auto by = [&](const std::string& method) { return symmetrise(forward, reverse, method); };
    for (const std::string& method : symmetrisations()) {
      EXPECT_TRUE(within(by("intersection"), by(method)) && within(by(method), by("union")))
          << method;
      EXPECT_EQ(to_pharaoh(symmetrise(forward, forward, method)), to_pharaoh(forward)) << method;
    }
    EXPECT_TRUE(within(by("grow-diag"), by("grow-diag-final-and")));
    EXPECT_TRUE(within(by("grow-diag"), by("grow-diag-final")));
    EXPECT_TRUE(within(by("grow-diag-strict"), by("grow-diag-final-strict")));
  }
}

TEST(Symmetrise, AnUnknownMethodNamesTheNearest) {
  try {
    symmetrise({}, {}, "unoin");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'union'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace heed
