// What a chain is for: a rationale is a run of words, and one word alone does not show it.
#include <gmock/gmock.h>
#include <torch/optim/adam.h>

#include "mechanisms/support.hpp"

namespace heed {
namespace {

// Texts of 24 words. A run of 5 to 7 has a faint mark and evidence of the class; the words outside
// have evidence too, of a class drawn for the text at random, so that the run has to be found.
struct Rationales {
  static constexpr std::int64_t kWords = 24, kDim = 6, kClasses = 5;
  Tensor x, gold, labels;

  explicit Rationales(std::int64_t texts) {
    labels = torch::randint(kClasses, {texts});
    const Tensor start = torch::randint(17, {texts, 1}), run = torch::randint(5, 8, {texts, 1});
    const Tensor place = torch::arange(kWords).unsqueeze(0);
    gold = (place >= start).logical_and(place < start + run);
    x = torch::randn({texts, kWords, kDim});
    const Tensor other = torch::randint(kClasses, {texts, 1});
    const Tensor shown = torch::where(gold, labels.unsqueeze(1), other);
    x.select(2, 0).add_(2 * gold.to(torch::kFloat32));
    x.narrow(2, 1, kClasses).add_(2 * torch::one_hot(shown, kClasses));
  }
};

struct Outcome {
  double f1 = 0, accuracy = 0;
};

// Token F1 of the weights at the threshold that serves them best, the same for all texts.
double best_f1(const Tensor& weights, const Tensor& gold) {
  double best = 0;
  const Tensor sorted = std::get<0>(weights.flatten().sort());
  for (int q = 1; q < 60; ++q) {
    const Tensor chosen = weights > sorted[sorted.numel() * q / 60];
    const double both = chosen.logical_and(gold).sum().item<double>();
    best = std::max(best, 2 * both / (chosen.sum().item<double>() + gold.sum().item<double>()));
  }
  return best;
}

Outcome learn_rationales(const std::string& mechanism_id, const std::string& map, int seed) {
  torch::manual_seed(seed);
  const Rationales test(400);
  Options options;
  if (mechanism_id == "structured.chain") options["normalise"] = true;
  const auto mechanism =
      make_mechanism({.parts = {.mechanism = {mechanism_id, options}, .score = "additive"},
                      .inputs = {{.name = "text", .dim = Rationales::kDim}},
                      .query_dim = 0});
  torch::nn::Linear output(Rationales::kDim, Rationales::kClasses);
  std::vector<Tensor> parameters = mechanism->parameters();
  for (const Tensor& parameter : output->parameters()) parameters.push_back(parameter);
  torch::optim::Adam adam(parameters, torch::optim::AdamOptions(0.02));
  for (int step = 0; step < 250; ++step) {
    adam.zero_grad();
    Trace trace;
    const Rationales batch(64);
    const Tensor context = mechanism->forward(text_of(batch.x), trace);
    torch::cross_entropy_loss(output->forward(context), batch.labels).backward();
    adam.step();
  }
  Trace trace = Trace::recording();
  const Tensor found = output->forward(mechanism->forward(text_of(test.x), trace)).argmax(1);
  return {.f1 = best_f1(trace.map(map).weights.view({400, -1}), test.gold),
          .accuracy = (found == test.labels).to(torch::kFloat64).mean().item<double>()};
}

TEST(Chain, FindsContiguousRationalesBetterThanSoft) {
  for (const int seed : {1, 2}) {
    const Outcome chain = learn_rationales("structured.chain", "selection", seed),
                  soft = learn_rationales("singular", "attention", seed);
    std::printf("token F1: chain %.3f, soft %.3f; accuracy %.3f, %.3f\n", chain.f1, soft.f1,
                chain.accuracy, soft.accuracy);
    EXPECT_GT(chain.f1, soft.f1 + 0.08) << seed;
  }
}

}  // namespace
}  // namespace heed
