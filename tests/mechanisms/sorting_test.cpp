// What a pointer is for: the answer is a sequence of places. bench/sorting.cpp has 10 numbers.
#include "mechanisms/sorting.hpp"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(Pointer, LearnsToSortFiveNumbers) {
  for (const int seed : {1, 2}) {
    const double exact = learn_to_sort({.seed = seed}, 500);
    std::printf("5 numbers sorted exactly: %.3f\n", exact);
    EXPECT_GT(exact, 0.9) << seed;
  }
}

}  // namespace
}  // namespace heed
