#include "heed/kernels/simd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace heed::kernels {

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
