#include "heed/models/graph_model.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "heed/base/error.hpp"
#include "heed/data/dataset.hpp"

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

Config het_config() {
  Config config;
  config.feature.model = "embedding";
  config.feature.dim = 8;
  config.attention.mechanism = "het-gat";
  return config;
}

TEST(GraphModel, AMapIsOverTheEdgesOfItsOwnRelation) {
  const Dataset data = load_dataset({.kind = "graph", .data = "builtin:hetgraph?size=40"});
  const Config config = het_config();
  const DataInfo info = data_info(config, data);
  GraphModel model(config, info);
  model.eval();
  std::vector<std::size_t> indices(data.test.size());
  std::iota(indices.begin(), indices.end(), 0);
  Trace trace = Trace::recording();
  model.answer(collate(data.test, indices, info), trace);
  for (const Relation& relation : data.graph->relations) {
    const TraceMap& map = trace.map("layer 1/" + relation.name);
    EXPECT_EQ(map.key_input, relation.name);
    EXPECT_TRUE(torch::allclose(map.weights.sum(-1), torch::ones({1})));
    for (std::size_t i = 0; i < data.test.size(); ++i) {
      EXPECT_EQ(map.key_lengths[static_cast<std::int64_t>(i)].item<std::int64_t>(),
                static_cast<std::int64_t>(data.test[i].inputs.at(relation.name).size()));
    }
  }
}

TEST(GraphModel, ARelationWithASlashIsAnInputError) {
  Dataset data = load_dataset({.kind = "graph", .data = "builtin:hetgraph?size=40"});
  auto graph = std::make_shared<GraphData>(*data.graph);
  graph->relations[1].name = "a/b";
  data.graph = graph;
  const Config config = het_config();
  try {
    GraphModel(config, data_info(config, data));
    ADD_FAILURE() << "no InputError";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("relation 'a/b'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace heed
