#include "heed/base/memory.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace heed {
namespace {

TEST(PeakMemory, RisesWithWhatIsHeldAndDoesNotFall) {
  const std::uint64_t before = peak_memory();
  EXPECT_GT(before, 0u);
  constexpr std::size_t kBytes = 96u << 20;
  // More than other tests of this process have held: their memory is free by now, their peak stays.
  { EXPECT_EQ(std::vector<char>(before + kBytes, 1)[before], 1); }
  const std::uint64_t after = peak_memory();
  EXPECT_GT(after, before + kBytes / 2);
  EXPECT_LT(after, 2 * before + 2 * kBytes);
}

TEST(AvailableMemory, IsKnownAndMayBeGiven) {
  EXPECT_GT(available_memory(), 1u << 20);
  setenv("HEED_MEMORY", "12345", 1);
  EXPECT_EQ(available_memory(), 12345u);
  unsetenv("HEED_MEMORY");
}

TEST(MemoryText, IsReadByPeople) {
  EXPECT_EQ(memory_text(512.0 * 1024), "0.5 MiB");
  EXPECT_EQ(memory_text(3.25 * 1024 * 1024 * 1024), "3.2 GiB");
}

}  // namespace
}  // namespace heed
