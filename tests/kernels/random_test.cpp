#include "heed/kernels/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace heed::kernels {

// The known answers published with Random123 (Salmon et al. 2011), kat_vectors, philox4x32 10.
TEST(Philox, GivesThePublishedAnswers) {
  using Four = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Dropout, KeepsTheAskedShareAndStopsAtTheEnd) {
  for (const double p : {0.0, 0.1, 0.5, 0.999, 1.0}) {
    constexpr int keys = 100'001;
    std::vector<std::uint8_t> keep(keys + 1, 7);
    dropout_keep(42, p, 1, 2, 3, keys, keep.data());
    EXPECT_EQ(keep[keys], 7) << "wrote past the end";
    double kept = 0;
    for (int k = 0; k < keys; ++k) kept += keep[static_cast<std::size_t>(k)];
    const double deviation = 5 * std::sqrt(p * (1 - p) / keys);  // five standard deviations
    EXPECT_NEAR(kept / keys, 1 - p, deviation);
  }
}

TEST(Dropout, IsARowOfItsOwnForEveryIndexAndSeed) {
  const auto row = [](std::uint64_t seed, int b, int h, int q) {
    std::vector<std::uint8_t> keep(256);
    dropout_keep(seed, 0.5, b, h, q, 256, keep.data());
    return keep;
  };
  const auto base = row(1, 0, 0, 0);
  EXPECT_EQ(base, row(1, 0, 0, 0));
  for (const auto& other : {row(2, 0, 0, 0), row(1ull << 40, 0, 0, 0), row(1, 1, 0, 0),
                            row(1, 0, 1, 0), row(1, 0, 0, 1)}) {
    EXPECT_NE(base, other);
  }
}

}  // namespace heed::kernels
