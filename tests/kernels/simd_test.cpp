#include "heed/kernels/simd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "kernels/tile_emulator.hpp"

namespace heed::kernels {

// Before any test asks for the targets, so that those which run on all of them run on this one too.
static const bool tiles_are_emulated = testing::emulate_tiles();

TEST(Simd, TilesAreTestedWhereverPairsAre) {
  const std::vector<std::string> targets = simd_targets();
  const auto has = [&](const char* name) { return std::ranges::count(targets, name) == 1; };
  if (tiles_are_emulated) std::puts("AMX's instructions are emulated");
  EXPECT_EQ(has("amx"), has("avx512bf16"));
}

TEST(Simd, ForcesEveryTargetItListsAndGoesBackToTheBest) {
  const std::vector<std::string> targets = simd_targets();
  ASSERT_FALSE(targets.empty());
  EXPECT_EQ(targets.back(), "scalar");
  for (const std::string& target : targets) {
    force_simd_target(target);
    EXPECT_EQ(simd_target(), target);
  }
  force_simd_target("");
  EXPECT_EQ(simd_target(), targets.front());
}

TEST(Simd, NamesWhatThereIsWhenAskedForSomethingElse) {
  try {
    force_simd_target("mmx");
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'mmx'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("scalar"), std::string::npos);
  }
}

}  // namespace heed::kernels
