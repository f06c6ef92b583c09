#include "heed/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace heed {
namespace {

TEST(Random, GivesThePublishedStream) {
  // The first outputs of SplitMix64 from seed 1234567, as in the reference implementation.
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random(3);
  std::array<int, 7> seen{};
  for (int i = 0; i < 7000; ++i) ++seen.at(random.below(7));
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(Random, ShuffleKeepsEveryItem) {
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> shuffled = items;
  Random(5).shuffle(std::span(shuffled));
  EXPECT_NE(shuffled, items);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, items);
}

TEST(Random, DerivedSeedsDiffer) {
  EXPECT_NE(Random::derive(1, 1), Random::derive(1, 2));
  EXPECT_NE(Random::derive(1, 1), Random::derive(2, 1));
  EXPECT_EQ(Random::derive(1, 1), Random::derive(1, 1));
}

}  // namespace
}  // namespace heed
