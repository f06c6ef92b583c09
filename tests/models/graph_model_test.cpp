#include "heed/models/graph_model.hpp"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(BagOfWords, IsTheDenseProductAndItsGradient) {
  torch::manual_seed(3);
  const std::vector<std::vector<std::int64_t>> rows = {{0, 3, 4}, {}, {4}, {1, 1, 3, 0}};
  const BagOfWords bag(rows, 6);
  Tensor dense = torch::zeros({4, 6});
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (const std::int64_t word : rows[r])
      dense[static_cast<std::int64_t>(r)][word] += 1.0 / static_cast<double>(rows[r].size());
  }
  const Tensor table = torch::randn({6, 5}, torch::requires_grad());
  const Tensor twin = table.detach().clone().requires_grad_();
  const Tensor weight = torch::randn({4, 5});
  const Tensor ours = bag.times(table, 0), theirs = dense.matmul(twin);
  EXPECT_TRUE(torch::allclose(ours, theirs, 1e-6, 1e-6));
  (ours * weight).sum().backward();
  (theirs * weight).sum().backward();
  EXPECT_TRUE(torch::allclose(table.grad(), twin.grad(), 1e-6, 1e-6));
}

TEST(BagOfWords, DropsEntriesAndKeepsTheMean) {
  torch::manual_seed(4);
  const std::vector<std::vector<std::int64_t>> rows(2000, std::vector<std::int64_t>{0, 1, 2, 3});
  const BagOfWords bag(rows, 4);
  const Tensor product = bag.times(torch::eye(4), 0.6);  // the entries themselves
  const Tensor there = product > 0;
  EXPECT_NEAR(there.to(torch::kFloat32).mean().item<double>(), 0.4, 0.02);
  EXPECT_TRUE(torch::allclose(product.masked_select(there), torch::full({1}, 0.25 / 0.4)));
}

}  // namespace
}  // namespace heed
