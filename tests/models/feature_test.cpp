#include "heed/models/feature.hpp"

#include <gtest/gtest.h>

#include "heed/base/error.hpp"
#include "heed/models/task_model.hpp"

namespace heed {
namespace {

std::shared_ptr<FeatureModel> make(const std::string& id, FeatureProblem problem = {}) {
  const PartInfo& info = registry().find(Group::feature, id);
  if (problem.input == 0) problem.input = 6;
  if (problem.dim == 0) problem.dim = 8;
  problem.options = resolve(info, problem.options, "feature");
  torch::manual_seed(2);
  auto model = std::get<MakeFeature>(info.make)(problem);
  model->eval();
  return model;
}

/// Six numbers for each id, always the same.
Input vectors(const Tensor& ids, const Tensor& lengths) {
  torch::manual_seed(1);
  const Tensor table = torch::randn({30, 6});
  return {.data = torch::embedding(table, ids), .lengths = lengths, .name = ""};
}

TEST(FeatureModels, PaddingNeverChangesAnEntry) {
  const Tensor ids = torch::tensor({{3, 4, 5, 6, 7}, {8, 9, 10, 0, 0}});
  for (const std::string& id : registry().ids(Group::feature)) {
    const auto model = make(id, {.layers = 2});
    const Tensor together = model->forward(vectors(ids, torch::tensor({5, 3})));
    const Tensor alone =
        model->forward(vectors(ids.narrow(0, 1, 1).narrow(1, 0, 3), torch::tensor({3})));
    EXPECT_EQ(together.size(2), model->output_dim()) << id;
    EXPECT_LT((together[1].narrow(0, 0, 3) - alone[0]).abs().max().item<float>(), 1e-6) << id;
    EXPECT_TRUE(torch::isfinite(together).all().item<bool>()) << id;
  }
}

TEST(FeatureModels, OrderMattersToAllButTheEmbedding) {
  const Tensor ids = torch::tensor({{3, 4, 5}}), swapped = torch::tensor({{4, 3, 5}});
  for (const std::string& id : registry().ids(Group::feature)) {
    const auto model = make(id);
    const Tensor a = model->forward(vectors(ids, torch::tensor({3})));
    const Tensor b = model->forward(vectors(swapped, torch::tensor({3})));
    EXPECT_EQ(torch::allclose(a[0][2], b[0][2]),
              id == "embedding" || id == "cnn" ? id == "embedding" : false)
        << id;
  }
}

TEST(FeatureModels, BothDirectionsSeeTheFuture) {
  const Tensor ids = torch::tensor({{3, 4, 5}}), later = torch::tensor({{3, 4, 6}});
  for (const std::string id : {"lstm", "bilstm", "gru", "bigru"}) {
    const auto model = make(id);
    const Tensor a = model->forward(vectors(ids, torch::tensor({3})));
    const Tensor b = model->forward(vectors(later, torch::tensor({3})));
    EXPECT_EQ(torch::allclose(a[0][0], b[0][0]), std::string(id).substr(0, 2) != "bi") << id;
  }
}

TEST(FeatureModels, RefuseSizesThatDoNotFit) {
  EXPECT_THROW(make("bigru", {.dim = 7}), InputError);
  EXPECT_THROW(make("cnn", {.options = {{"width", std::int64_t{4}}}}), InputError);
}

}  // namespace
}  // namespace heed
