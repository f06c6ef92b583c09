// Over-smoothing: accuracy of graph attention and of mean aggregation as layers are added.
//
// The generated graph has classes that its edges mostly respect; every layer mixes neighbours, and
// after many of them nodes look alike. Mean aggregation is the same model with its weights replaced
// by one over the number of in-edges, in training too.
#include <fmt/format.h>
#include <torch/optim/adam.h>

#include "heed/mechanisms/mechanism.hpp"

namespace heed {
namespace {

constexpr std::int64_t kNodes = 300, kClasses = 5, kDim = 16, kHeads = 2, kEdges = 1800;

struct Communities {
  Tensor x, labels, edges;

  explicit Communities(int seed) {
    torch::manual_seed(seed);
    labels = torch::randint(kClasses, {kNodes});
    x = torch::randn({kNodes, kDim});
    x.narrow(1, 0, kClasses).add_(1.0 * torch::one_hot(labels, kClasses));
    const Tensor from = torch::randint(kNodes, {40 * kNodes}),
                 to = torch::randint(kNodes, {40 * kNodes});
    // Seven edges of ten stay inside a class: one pair in five would by chance.
    const Tensor same = labels.index_select(0, from) == labels.index_select(0, to);
    const Tensor kept = same.logical_or(torch::rand({40 * kNodes}) < 0.107);
    const Tensor some =
        torch::stack({from, to}).index({torch::indexing::Slice(), kept}).narrow(1, 0, kEdges);
    const Tensor itself = torch::arange(kNodes);
    edges = torch::cat({some, torch::stack({itself, itself})}, 1);  // self-loops are explicit
  }

  Tensor mean_weights() const {
    const Tensor degree = torch::bincount(edges[1], {}, kNodes).to(torch::kFloat32);
    return degree.index_select(0, edges[1]).reciprocal().expand({1, kHeads, -1});
  }
};

struct Found {
  double accuracy = 0, spread = 0;
};

Found learn(const Communities& data, const std::string& id, std::int64_t layers, int seed) {
  torch::manual_seed(seed);
  const bool mean = id.starts_with("mean"), residual = id.ends_with("residual");
  const auto mechanism =
      make_mechanism({.parts = {.mechanism = {"gat", {{"layers", layers}, {"residual", residual}}},
                                .queries = {"multi-head", {{"heads", kHeads}}}},
                      .inputs = {{.name = "nodes", .dim = kDim}}});
  torch::nn::Linear output(kDim, kClasses);
  std::vector<Tensor> parameters = mechanism->parameters();
  for (const Tensor& parameter : output->parameters()) parameters.push_back(parameter);
  torch::optim::Adam adam(parameters, torch::optim::AdamOptions(0.01).weight_decay(5e-4));
  Inputs inputs;
  inputs.set("nodes", data.x);
  inputs.set_edges("edges", data.edges);
  const Tensor uniform = data.mean_weights();
  const auto run = [&] {
    Trace trace;
    for (std::int64_t l = 1; mean && l <= layers; ++l)
      trace.replace(fmt::format("layer {}", l), uniform);
    return mechanism->forward(inputs, trace);
  };
  const auto half = [](const Tensor& y, std::int64_t which) {
    return y.narrow(0, which * kNodes / 2, kNodes / 2);
  };
  for (int step = 0; step < 150; ++step) {
    adam.zero_grad();
    torch::cross_entropy_loss(half(output->forward(run()), 0), half(data.labels, 0)).backward();
    adam.step();
  }
  const torch::NoGradGuard no_grad;
  const Tensor context = run();
  const Tensor right = half(output->forward(context).argmax(1), 1) == half(data.labels, 1);
  // How far nodes are from their mean, against the mean's size: 0 when all look alike.
  const Tensor centre = context.mean(0, true);
  const Tensor spread = (context - centre).norm() / (context.norm() + 1e-12);
  return {right.to(torch::kFloat64).mean().item<double>(), spread.item<double>()};
}

}  // namespace
}  // namespace heed

int main() {
  torch::set_num_threads(1);
  const std::vector<std::string> models = {"gat", "mean", "gat + residual", "mean + residual"};
  fmt::print("accuracy on held-out nodes (spread of the contexts), mean of 3 graphs\nlayers");
  for (const std::string& model : models) fmt::print("{:>18}", model);
  fmt::print("\n");
  for (const std::int64_t layers : {2, 4, 8, 16}) {
    fmt::print("{:>6}", layers);
    for (const std::string& model : models) {
      heed::Found sum;
      for (const int seed : {1, 2, 3}) {
        const heed::Found found = heed::learn(heed::Communities(seed), model, layers, seed);
        sum.accuracy += found.accuracy / 3, sum.spread += found.spread / 3;
      }
      fmt::print("{:>11.3f} ({:.2f})", sum.accuracy, sum.spread);
    }
    fmt::print("\n");
  }
}
