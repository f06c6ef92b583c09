// What het-gat is for: several kinds of edges, not all of them useful.
#include <torch/optim/adam.h>

#include "mechanisms/support.hpp"

namespace heed {
namespace {

// Two kinds of edges: one joins nodes of a class, the other any two nodes.
struct TwoRelations {
  static constexpr std::int64_t kNodes = 200, kClasses = 4, kDim = 8;
  Tensor labels, x, good, noise;

  explicit TwoRelations(int seed) {
    torch::manual_seed(seed);
    labels = torch::randint(kClasses, {kNodes});
    x = torch::randn({kNodes, kDim});
    x.narrow(1, 0, kClasses).add_(0.8 * torch::one_hot(labels, kClasses));
    good = edges(true), noise = edges(false);
  }
  Tensor edges(bool same_class) const {
    const Tensor from = torch::randint(kNodes, {8000}), to = torch::randint(kNodes, {8000});
    const Tensor fits = same_class ? labels.index_select(0, from) == labels.index_select(0, to)
                                   : torch::rand({8000}) < 0.25;
    return torch::stack({from, to}).index({torch::indexing::Slice(), fits}).narrow(1, 0, 1200);
  }
};

// Trained on half of the nodes; accuracy on the others.
double node_accuracy(const TwoRelations& data, const std::string& id) {
  std::vector<std::string> relations = {"edges"};
  if (id == "het-gat") relations = {"good", "noise"};
  const auto mechanism = make_mechanism(
      {.parts = {.mechanism = id, .queries = {"multi-head", {{"heads", std::int64_t{2}}}}},
       .inputs = {{.name = "nodes", .dim = TwoRelations::kDim}},
       .relations = relations});
  torch::nn::Linear output(8, TwoRelations::kClasses);
  Inputs inputs;
  inputs.set("nodes", data.x);
  inputs.set_edges("good", data.good);
  inputs.set_edges("noise", data.noise);
  inputs.set_edges("edges", torch::cat({data.good, data.noise}, 1));
  std::vector<Tensor> parameters = mechanism->parameters();
  for (const Tensor& parameter : output->parameters()) parameters.push_back(parameter);
  torch::optim::Adam adam(parameters, torch::optim::AdamOptions(0.02).weight_decay(1e-3));
  Trace trace;
  const auto half = [&](const Tensor& y, std::int64_t which) {
    return y.narrow(0, which * 100, 100);
  };
  for (int step = 0; step < 100; ++step) {
    adam.zero_grad();
    const Tensor logits = output->forward(torch::elu(mechanism->forward(inputs, trace)));
    torch::cross_entropy_loss(half(logits, 0), half(data.labels, 0)).backward();
    adam.step();
  }
  const Tensor found = output->forward(torch::elu(mechanism->forward(inputs, trace))).argmax(1);
  return (half(found, 1) == half(data.labels, 1)).to(torch::kFloat64).mean().item<double>();
}

TEST(HetGat, BeatsGatWhereOneRelationIsNoise) {
  double het = 0, plain = 0;
  for (const int seed : {1, 2, 3}) {
    const TwoRelations data(seed);
    const double mine = node_accuracy(data, "het-gat"), other = node_accuracy(data, "gat");
    std::printf("het-gat %.2f, gat on all edges %.2f\n", mine, other);
    het += mine / 3, plain += other / 3;
  }
  EXPECT_GT(het, plain + 0.05);
}

}  // namespace
}  // namespace heed
