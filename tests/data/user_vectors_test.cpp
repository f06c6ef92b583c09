#include "heed/data/user_vectors.hpp"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include "data/scratch.hpp"
#include "heed/data/safetensors.hpp"

namespace heed {
namespace {

using testing::message_of;
using testing::Scratch;
using torch::Tensor;

/// Two circles of users who share no item: they, climbers, and those who fish.
std::vector<UserItems> circles() {
  return {{.history = {"rope", "shoe"}, .source = {"lamp"}},
          {.history = {"rope", "chalk"}, .source = {"lamp"}},
          {.history = {"shoe", "chalk", "rope"}, .source = {}},
          {.history = {"rod", "hook"}, .source = {"radio"}},
          {.history = {"rod", "line"}, .source = {}},
          {.history = {"hook", "line", "rod"}, .source = {"radio"}}};
}

const std::vector<std::string> kItems = {"chalk", "hook", "line", "rod", "rope", "shoe"};

Vocabulary words() {
  return Vocabulary({"rope", "rod", "chalk", "hook", "lamp", "line", "radio", "shoe"});
}

/// The same by plain loops and a dense decomposition: cosines between users in `dim` dimensions.
Tensor dense_cosines(const std::vector<UserItems>& lists, double source, std::int64_t dim) {
  std::map<std::string, std::int64_t> column;
  for (const UserItems& list : lists) {
    for (const auto* items : {&list.history, &list.source})
      for (const std::string& item : *items)
        column.emplace(item, static_cast<std::int64_t>(column.size()));
  }
  Tensor matrix = torch::zeros(
      {static_cast<std::int64_t>(lists.size()), static_cast<std::int64_t>(column.size())},
      torch::kFloat64);
  for (std::size_t user = 0; user < lists.size(); ++user) {
    const auto row = static_cast<std::int64_t>(user);
    for (const std::string& item : lists[user].history) matrix[row][column[item]] = 1;
    for (const std::string& item : lists[user].source) matrix[row][column[item]] = source;
  }
  matrix = matrix / (matrix.sum(1, true) + 1).sqrt() / (matrix.sum(0, true) + 1).sqrt();
  const auto [u, s, v] = torch::linalg_svd(matrix, false);
  const Tensor rows = (u * s).narrow(1, 0, dim);
  const Tensor unit = rows / rows.norm(2, 1, true);
  return torch::matmul(unit, unit.t());
}

Tensor cosines(const Tensor& rows) {
  const Tensor unit = (rows / rows.norm(2, 1, true)).to(torch::kFloat64);
  return torch::matmul(unit, unit.t());
}

TEST(UserVectors, AreTheLeadingSingularVectorsOfWhoTookWhat) {
  for (const std::int64_t dim : {2, 4}) {
    const auto made = UserVectors::learn(circles(), kItems, words(), {.dim = dim, .source = 0.5});
    const Tensor right = dense_cosines(circles(), 0.5, dim);
    EXPECT_TRUE(torch::allclose(cosines(made->users), right, 1e-4, 1e-4)) << "dim " << dim;
    EXPECT_LT(right[0][3].item<double>(), 0.5) << "the circles are apart";
    EXPECT_GT(right[0][1].item<double>(), 0.5);
  }
}

TEST(UserVectors, AUserIsTheSumOfItsItemsUpToItsLength) {
  const auto lists = circles();
  const auto made = UserVectors::learn(lists, kItems, words(), {.dim = 4, .source = 0.5});
  EXPECT_TRUE((made->items.narrow(0, 0, 2) == 0).all().item<bool>()) << "padding and unknown";
  std::vector<Tensor> sums;
  for (const UserItems& list : lists) {
    Tensor sum = torch::zeros({4});
    for (const auto* items : {&list.history, &list.source})
      for (const std::string& item : *items) sum += made->items[words().id(item)];
    sums.push_back(sum);
  }
  const Tensor unit = torch::stack(sums) / torch::stack(sums).norm(2, 1, true);
  const Tensor users = made->users / made->users.norm(2, 1, true);
  EXPECT_TRUE(torch::allclose(unit, users, 1e-4, 1e-5));
}

TEST(UserVectors, KnowWhoTookWhatAndWhichShareOfTheirsItIs) {
  const auto made = UserVectors::learn(circles(), kItems, words(), {.dim = 2});
  const Tensor rope = made->takers.slice(0, made->offsets[4].item<std::int64_t>(),
                                         made->offsets[5].item<std::int64_t>());
  EXPECT_TRUE(torch::equal(rope, torch::tensor({0, 1, 2}, torch::kInt64)));
  Tensor of_user = torch::zeros({6});
  of_user.index_add_(0, made->takers, made->shares);
  EXPECT_TRUE(torch::allclose(of_user, torch::ones({6})));
  EXPECT_EQ(made->offsets[-1].item<std::int64_t>(), 14);
}

TEST(UserVectors, ComeBackFromAFileAndADamagedOneIsRefused) {
  const Scratch scratch;
  const auto made = UserVectors::learn(circles(), kItems, words(), {.dim = 3});
  const auto file = scratch.write("users.safetensors", "");
  made->save(file);
  const auto read = UserVectors::load(file, kItems.size(), words().size());
  EXPECT_TRUE(torch::equal(read->items, made->items));
  EXPECT_TRUE(torch::equal(read->takers, made->takers));
  EXPECT_THAT(message_of([&] { UserVectors::load(file, 5, words().size()); }),
              ::testing::HasSubstr("other data"));
  UserVectors bad = *made;
  bad.takers = made->takers + 1;  // the last user is one too far
  bad.save(file);
  EXPECT_THAT(message_of([&] { UserVectors::load(file, kItems.size(), words().size()); }),
              ::testing::HasSubstr("damaged"));
  write_safetensors(file, {{"items", made->items}});
  EXPECT_THAT(message_of([&] { UserVectors::load(file, kItems.size(), words().size()); }),
              ::testing::HasSubstr("damaged"));
}

TEST(UserVectors, NeedLists) {
  EXPECT_THAT(message_of([] { UserVectors::learn({}, kItems, words(), {}); }),
              ::testing::HasSubstr("lists of who took what"));
  // One user with nothing is no user to be like, and no mistake.
  const std::vector<UserItems> nobody(1);
  const auto made = UserVectors::learn(nobody, kItems, words(), {});
  EXPECT_TRUE(torch::isfinite(made->users).all().item<bool>());
}

}  // namespace
}  // namespace heed
