#include "heed/base/memory.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "heed/base/error.hpp"

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

TEST(CheckRoom, RefusesWhatDoesNotFitWithSizesAndCure) {
  setenv("HEED_MEMORY", "100000000", 1);
  const auto check = [](double bytes) {
    check_room(
        bytes, "attend", [] { return std::string("3 × 4 pairs"); }, "take less");
  };
  EXPECT_NO_THROW(check(99e6));
  try {
    check(101e6);
    FAIL() << "101 MB fitted in 100";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "attend: 3 × 4 pairs need 96.3 MiB, and 95.4 MiB are free; take less");
  }
  unsetenv("HEED_MEMORY");
}

TEST(MemoryText, IsReadByPeople) {
  EXPECT_EQ(memory_text(512.0 * 1024), "0.5 MiB");
  EXPECT_EQ(memory_text(3.25 * 1024 * 1024 * 1024), "3.2 GiB");
}

}  // namespace
}  // namespace heed
