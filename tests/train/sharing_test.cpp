#include "train/sharing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "heed/base/error.hpp"
#include "train/gradient_rows.hpp"
#include "train/rank_bytes.hpp"

namespace heed {
namespace {

using testing::ElementsAre;

/// One rank of several, to ask what it would do; it has nobody to talk to.
class Imagined : public dist::Group {
 public:
  Imagined(int rank, std::vector<std::string> said) : rank_(rank), said_(std::move(said)) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(said_.size()); }
  std::unique_ptr<dist::Work> sum(std::span<float>) override { return nullptr; }
  std::unique_ptr<dist::Work> sum(std::span<double>) override { return nullptr; }
  std::unique_ptr<dist::Work> sum(std::span<std::int64_t>) override { return nullptr; }
  std::unique_ptr<dist::Work> exchange(std::span<const std::byte>, int, std::span<std::byte>,
                                       int) override {
    return nullptr;
  }
  std::vector<std::string> gather(const std::string& mine) override {
    std::vector<std::string> all = said_;
    all[static_cast<std::size_t>(rank_)] = mine;
    return all;
  }

 private:
  int rank_;
  std::vector<std::string> said_;
};

TEST(Sharing, EveryExampleOfABatchIsOneRanks) {
  for (const std::size_t size : {1, 3, 4, 31}) {
    std::vector<std::size_t> batch(size), dealt;
    std::iota(batch.begin(), batch.end(), std::size_t{7});
    std::size_t least = size, most = 0;
    for (int rank = 0; rank < 4; ++rank) {
      const auto part = own_part(batch, Imagined(rank, std::vector<std::string>(4)));
      least = std::min(least, part.size());
      most = std::max(most, part.size());
      dealt.insert(dealt.end(), part.begin(), part.end());
    }
    std::ranges::sort(dealt);
    EXPECT_EQ(dealt, batch);
    EXPECT_LE(most, least + 1);
  }
}

TEST(Sharing, WorkIsDealtEvenly) {
  const std::vector<double> costs = {1, 2, 3, 4, 5, 6};
  const std::vector<int> owners = deal(costs, 3);
  std::vector<double> load(3);
  for (std::size_t i = 0; i < costs.size(); ++i)
    load[static_cast<std::size_t>(owners[i])] += costs[i];
  EXPECT_THAT(load, testing::Each(7.0));
  EXPECT_THAT(deal(std::vector<double>{5}, 3), ElementsAre(0));
}

TEST(Sharing, NamesTheRankThatDiffers) {
  Imagined group(0, {"", "same", "other"});
  EXPECT_NO_THROW(check_alike({{"data", "x"}}, dist::alone()));
  try {
    check_alike({{"data", "same"}}, group);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("rank 2 has another data than rank 0"));
  }
}

TEST(Sharing, DigestsTellDataApart) {
  Dataset data;
  data.train = {{.id = "1", .inputs = {{"text", {"a", "b"}}}, .label = "x", .gold = {}}};
  Dataset other = data;
  other.train[0].inputs["text"] = {"a", "c"};
  Dataset moved = data;
  moved.train.swap(moved.val);
  EXPECT_EQ(digest(data), digest(Dataset(data)));
  EXPECT_NE(digest(data), digest(other));
  EXPECT_NE(digest(data), digest(moved));
}

TEST(Sharing, RowsOfAllRanksAreAdded) {
  const Tensor table = torch::zeros({4, 2}).requires_grad_();
  Tensor(table).mutable_grad() = torch::tensor({{1.f, 0.f}, {0.f, 0.f}, {0.f, 2.f}, {0.f, 0.f}});
  EXPECT_THAT(touched_rows(table.grad()), ElementsAre(0, 2));
  EXPECT_TRUE(touched_rows(Tensor()).empty());
  EXPECT_TRUE(sum_as_rows(table, {0, 2}, dist::alone()).equal(table.grad()));
  // The other rank sends row 2: its number, then its values.
  std::string bytes(16, '\0');
  const std::int64_t row = 2;
  const float values[] = {10, 20};
  std::memcpy(bytes.data(), &row, 8);
  std::memcpy(bytes.data() + 8, values, 8);
  Imagined group(0, {"", bytes});
  EXPECT_TRUE(sum_as_rows(table, {0, 2}, group)
                  .equal(torch::tensor({{1.f, 0.f}, {0.f, 0.f}, {10.f, 22.f}, {0.f, 0.f}})));
}

TEST(Sharing, PredictionsKeepAllBits) {
  Prediction first{.label = 3, .probabilities = {0.1f, 0.9f}, .sequence = {"", "a b", "ü"}};
  first.number = 0.1;
  first.log_probs = {-1e-300, -3};
  first.maps.push_back({.name = "self/1",
                        .axes = {"head", "query", "key"},
                        .query_input = "",
                        .key_input = "text",
                        .weights = torch::rand({2, 3, 4}, torch::kFloat64).transpose(1, 2)});
  const std::vector<Prediction> given = {first, Prediction()};
  const std::vector<Prediction> read = predictions_from(to_bytes(given));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].label, 3u);
  EXPECT_EQ(read[0].probabilities, first.probabilities);
  EXPECT_EQ(read[0].sequence, first.sequence);
  EXPECT_EQ(read[0].number, first.number);
  EXPECT_EQ(read[0].log_probs, first.log_probs);
  ASSERT_EQ(read[0].maps.size(), 1u);
  EXPECT_EQ(read[0].maps[0].name, "self/1");
  EXPECT_EQ(read[0].maps[0].axes, first.maps[0].axes);
  EXPECT_EQ(read[0].maps[0].key_input, "text");
  EXPECT_TRUE(read[0].maps[0].weights.equal(first.maps[0].weights));
  EXPECT_FALSE(read[0].maps[0].features.defined());
  EXPECT_TRUE(read[1].maps.empty());
  EXPECT_THROW(predictions_from(to_bytes(given).substr(0, 50)), InputError);
}

}  // namespace
}  // namespace heed
