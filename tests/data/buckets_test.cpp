#include "heed/data/buckets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "data/scratch.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

using Batches = std::vector<std::vector<std::size_t>>;

std::vector<std::int64_t> random_lengths(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < count; ++i)
    lengths.push_back(5 + static_cast<std::int64_t>(random.below(36)));
  return lengths;
}

void expect_each_once(const Batches& batches, std::size_t count, std::size_t batch_size) {
  std::vector<std::size_t> all;
  std::size_t small = 0;
  for (const auto& batch : batches) {
    EXPECT_FALSE(batch.empty());
    EXPECT_LE(batch.size(), batch_size);
    small += batch.size() < batch_size;
    all.insert(all.end(), batch.begin(), batch.end());
  }
  EXPECT_LE(small, 1u) << "more than one batch is not full";
  std::ranges::sort(all);
  std::vector<std::size_t> expected(count);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(all, expected) << "count=" << count << " batch_size=" << batch_size;
}

std::int64_t padding(const Batches& batches, const std::vector<std::int64_t>& lengths) {
  std::int64_t padded = 0;
  for (const auto& batch : batches) {
    std::int64_t longest = 0;
    for (const std::size_t i : batch) longest = std::max(longest, lengths[i]);
    for (const std::size_t i : batch) padded += longest - lengths[i];
  }
  return padded;
}

TEST(BucketBatches, HoldEachIndexExactlyOnceAtAnySize) {
  for (const std::size_t count : {0, 1, 2, 31, 32, 33, 1600, 1601, 5000}) {
    const auto lengths = random_lengths(count, count);
    for (const std::size_t batch_size : {1, 2, 32, 10000}) {
      expect_each_once(bucket_batches(lengths, batch_size, 7), count, batch_size);
      expect_each_once(in_order_batches(lengths, batch_size), count, batch_size);
    }
  }
}

TEST(BucketBatches, ASizeNearTheLargestNumberIsOneBatch) {
  EXPECT_EQ(bucket_batches(random_lengths(10, 1), SIZE_MAX, 1).size(), 1u);
  EXPECT_EQ(in_order_batches(random_lengths(10, 1), SIZE_MAX).size(), 1u);
}

TEST(BucketBatches, TheSeedDecides) {
  const auto lengths = random_lengths(500, 1);
  EXPECT_EQ(bucket_batches(lengths, 16, 3), bucket_batches(lengths, 16, 3));
  EXPECT_NE(bucket_batches(lengths, 16, 3), bucket_batches(lengths, 16, 4));
}

TEST(BucketBatches, DoNotMeetTheSameNeighboursEachEpoch) {
  // All lengths equal: sorting must not put the examples back in their first order.
  const std::vector<std::int64_t> lengths(640, 9);
  std::vector<std::size_t> order;
  for (const auto& batch : bucket_batches(lengths, 32, 1))
    order.insert(order.end(), batch.begin(), batch.end());
  std::size_t neighbours = 0;
  for (std::size_t i = 1; i < order.size(); ++i) neighbours += order[i] == order[i - 1] + 1;
  EXPECT_LT(neighbours, 20u);
}

TEST(BucketBatches, AreNotOrderedByLength) {
  const auto lengths = random_lengths(3200, 2);
  std::vector<std::int64_t> firsts;
  for (const auto& batch : bucket_batches(lengths, 32, 1)) firsts.push_back(lengths[batch[0]]);
  std::size_t rises = 0;
  for (std::size_t i = 1; i < firsts.size(); ++i) rises += firsts[i] >= firsts[i - 1];
  EXPECT_GT(rises, firsts.size() / 4);
  EXPECT_LT(rises, firsts.size() * 3 / 4);
}

TEST(BucketBatches, NeedATenthOfThePaddingOfShuffledBatches) {
  const auto lengths = random_lengths(3200, 3);
  const std::vector<std::int64_t> same(lengths.size(), 1);  // equal keys: a plain shuffle
  EXPECT_LT(padding(bucket_batches(lengths, 32, 1), lengths) * 10,
            padding(bucket_batches(same, 32, 1), lengths));
}

TEST(InOrderBatches, GoFromShortToLongAndKeepTheOrderOfEquals) {
  const std::vector<std::int64_t> lengths = {3, 1, 2, 1, 3, 2};
  EXPECT_EQ(in_order_batches(lengths, 2), (Batches{{1, 3}, {2, 5}, {0, 4}}));
  EXPECT_EQ(in_order_batches(lengths, 4), (Batches{{1, 3, 2, 5}, {0, 4}}));
}

TEST(InOrderBatches, HoldNoMorePlacesThanAllowedUnlessOneExampleDoes) {
  const std::vector<std::int64_t> lengths = {5, 1, 2, 1, 9, 2};
  EXPECT_EQ(in_order_batches(lengths, 4, 6), (Batches{{1, 3, 2}, {5}, {0}, {4}}));
  EXPECT_EQ(in_order_batches(lengths, 4, 0), (Batches{{1}, {3}, {2}, {5}, {0}, {4}}));
  EXPECT_EQ(in_order_batches(lengths, 2, 100), (Batches{{1, 3}, {2, 5}, {0, 4}}));
}

TEST(BucketBatches, ZeroExamplesABatchIsAnInputError) {
  const auto lengths = random_lengths(3, 1);
  testing::expect_parts(testing::message_of([&] { bucket_batches(lengths, 0, 1); }),
                        {"batch_size"});
  testing::expect_parts(testing::message_of([&] { in_order_batches(lengths, 0); }), {"batch_size"});
}

}  // namespace
}  // namespace heed
