// Runs with any number of ranks: alone by ctest, as two and four by test_groups.py.
#include <gtest/gtest.h>

#include <numeric>

#include "heed/dist/mpi.hpp"

namespace heed::dist {
namespace {

TEST(Group, SumsOverTheRanks) {
  Group& group = mpi_world();
  const int n = group.size();
  std::vector<float> floats(1000);
  std::iota(floats.begin(), floats.end(), static_cast<float>(group.rank()));
  std::vector<double> doubles = {0.5, static_cast<double>(group.rank())};
  std::vector<std::int64_t> whole = {std::int64_t{1} << 40};
  const auto first = group.sum(floats), second = group.sum(doubles), third = group.sum(whole);
  first->wait();
  second->wait();
  third->wait();
  const int ranks = n * (n - 1) / 2;
  for (std::size_t i = 0; i < floats.size(); ++i)
    ASSERT_EQ(floats[i], static_cast<float>(static_cast<int>(i) * n + ranks));
  EXPECT_EQ(doubles, (std::vector<double>{0.5 * n, static_cast<double>(ranks)}));
  EXPECT_EQ(whole.front(), n * (std::int64_t{1} << 40));
}

TEST(Group, PassesRoundTheRing) {
  Group& group = mpi_world();
  const int n = group.size(), next = (group.rank() + 1) % n, last = (group.rank() + n - 1) % n;
  std::vector<double> out(70000, group.rank()), in(out.size(), -1);
  group.exchange(std::as_bytes(std::span(out)), next, std::as_writable_bytes(std::span(in)), last)
      ->wait();
  EXPECT_EQ(in, std::vector<double>(out.size(), last));
}

TEST(Group, GathersTextsOfAnyLengthInOrder) {
  Group& group = mpi_world();
  const auto text = [](int rank) {
    return std::string(static_cast<std::size_t>(rank) * 1000, 'x');
  };
  const std::vector<std::string> all = group.gather(text(group.rank()));
  ASSERT_EQ(all.size(), static_cast<std::size_t>(group.size()));
  for (int rank = 0; rank < group.size(); ++rank)
    EXPECT_EQ(all[static_cast<std::size_t>(rank)], text(rank));
}

TEST(Group, HasAsManyRanksAsWereStarted) {
  const char* asked = std::getenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(mpi_world().size(), asked ? std::atoi(asked) : 1);
  EXPECT_EQ(mpi_world().first(), mpi_world().rank() == 0);
}

}  // namespace
}  // namespace heed::dist
