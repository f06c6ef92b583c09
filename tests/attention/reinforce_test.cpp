// Choices trained by REINFORCE: what the estimator expects, and what modules leave in a trace.
#include "heed/attention/reinforce.hpp"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include "heed/attention/attention.hpp"

namespace heed {
namespace {

constexpr auto kF64 = torch::kFloat64;
constexpr std::int64_t kKeys = 4, kWidth = 3;

/// A loss of a context [.., d] that prefers some keys, far from 0 so that a baseline matters.
Tensor loss_of(const Tensor& context) {
  const Tensor u = torch::tensor({1.0, -0.6, 0.4}, kF64);
  return 3 + torch::matmul(context, u).square() + 0.5 * context.select(-1, 1);
}

/// An attention module whose loss is random through its choices.
struct Game {
  explicit Game(const PartSpec& align) {
    torch::manual_seed(6);
    const Problem sizes{.query_dim = kWidth, .key_dim = kWidth, .value_dim = kWidth};
    module = Attention(AttentionConfig{.score = "general", .align = align}, sizes);
    module->to(kF64);
    query = torch::randn({kWidth}, kF64).set_requires_grad(true);
    keys = torch::randn({kKeys, kWidth}, kF64).set_requires_grad(true);
    leaves = {query, keys}, names = {"query", "keys"};
    for (const auto& item : module->named_parameters()) {
      names.push_back(item.key());
      leaves.push_back(item.value());
    }
  }

  Tensor param(const std::string& name) const { return module->named_parameters()[name]; }
  Tensor scores() const { return torch::matmul(keys, torch::matmul(param("W"), query)); }

  /// The gradient of a scalar to all leaves, one long vector.
  Tensor gradient(const Tensor& scalar) const {
    const auto parts = torch::autograd::grad({scalar}, leaves, {}, {}, false, true);
    std::vector<Tensor> flat;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      flat.push_back((parts[i].defined() ? parts[i] : torch::zeros_like(leaves[i])).flatten());
    }
    return torch::cat(flat);
  }

  /// One step of training with `n` equal entries, each with a choice of its own.
  Tensor sampled_gradient(std::int64_t n, Reinforce& reinforce) {
    Trace trace;
    const Tensor context = module->attend(query.expand({n, kWidth}),
                                          {.data = keys.expand({n, kKeys, kWidth})}, trace["it"]);
    const Tensor each = loss_of(context);
    return gradient(each.mean() + reinforce->loss(trace.choices(), -each));
  }

  Attention module{nullptr};
  Tensor query, keys;
  std::vector<Tensor> leaves;
  std::vector<std::string> names;
};

Tensor expected_loss_of_hard(const Game& game) {
  return (torch::softmax(game.scores(), 0) * loss_of(game.keys)).sum();
}

/// Over all 2^K selections.
Tensor expected_loss_of_reinforced(const Game& game) {
  const Tensor hidden =
      torch::tanh(torch::matmul(game.keys, game.param("Ws").t()) + game.param("bs"));
  const Tensor p = torch::sigmoid(torch::matmul(hidden, game.param("ws")));
  const Tensor power = torch::exp(game.scores());
  Tensor total = torch::zeros({}, kF64);
  for (int chosen = 0; chosen < 1 << kKeys; ++chosen) {
    Tensor probability = torch::ones({}, kF64), context = torch::zeros({kWidth}, kF64),
           sum = torch::zeros({}, kF64);
    for (std::int64_t l = 0; l < kKeys; ++l) {
      const bool yes = (chosen >> l & 1) != 0;
      probability = probability * (yes ? p[l] : 1 - p[l]);
      if (yes) sum = sum + power[l], context = context + power[l] * game.keys[l];
    }
    if (chosen != 0) context = context / sum;
    total = total + probability * loss_of(context);
  }
  return total;
}

struct Estimate {
  Tensor mean, error;  // error: standard, of the mean
};

/// From `runs` independent steps. The baseline is what a first step left.
Estimate estimate(Game& game, std::int64_t runs, std::int64_t entries) {
  Reinforce reinforce;
  torch::manual_seed(12);
  game.sampled_gradient(entries, reinforce);
  std::vector<Tensor> all;
  for (std::int64_t i = 0; i < runs; ++i) all.push_back(game.sampled_gradient(entries, reinforce));
  const Tensor samples = torch::stack(all);
  return {samples.mean(0), samples.std(0) / std::sqrt(static_cast<double>(runs))};
}

/// The estimator's mean is the exact gradient, and that of the named leaf is so far from 0 that a
/// wrong sign could not pass.
void expect_the_exact_gradient(Game& game, const Tensor& objective, const std::string& clear) {
  const Tensor exact = game.gradient(objective);
  const Estimate sampled = estimate(game, 60, 1000);
  const Tensor error = sampled.error + 1e-7;  // logp is float32
  EXPECT_LT(((sampled.mean - exact).abs() / error).max().item<double>(), 4.5)
      << sampled.mean << exact;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < game.leaves.size(); ++i) {
    const std::int64_t size = game.leaves[i].numel();
    if (game.names[i] == clear) {
      EXPECT_GT((exact.abs() / error).narrow(0, at, size).max().item<double>(), 20);
    }
    at += size;
  }
}

// The query and the selector learn by choices alone; keys are values too and get both parts.
TEST(Reinforce, ExpectsTheGradientOfHardAttentionsMeanLoss) {
  Game game("hard");
  expect_the_exact_gradient(game, expected_loss_of_hard(game), "query");
}

TEST(Reinforce, ExpectsTheGradientOfReinforcedAttentionsMeanLoss) {
  Game game("reinforced");
  expect_the_exact_gradient(game, expected_loss_of_reinforced(game), "ws");
}

TEST(Reinforce, TheBaselineLowersTheVariance) {
  Game game("hard");
  const Tensor with = estimate(game, 40, 200).error;
  torch::manual_seed(12);
  std::vector<Tensor> all;
  for (int i = 0; i < 40; ++i) {
    Reinforce fresh;  // a baseline of 0
    all.push_back(game.sampled_gradient(200, fresh));
  }
  const Tensor without = torch::stack(all).std(0) / std::sqrt(40.0);
  const auto size = [](const Tensor& x) { return x.narrow(0, 0, kWidth).norm().item<double>(); };
  EXPECT_LT(size(with), 0.7 * size(without));
}

TEST(Reinforce, HoldsTheRewardAgainstAMovingAverage) {
  Reinforce reinforce;
  const Tensor logp = torch::tensor({-1.0, -2.0}, kF64).set_requires_grad(true),
               entropy = torch::tensor({0.5, 0.3}, kF64).set_requires_grad(true);
  const std::vector<Choice> choices = {{.name = "it",
                                        .logp = logp,
                                        .entropy = entropy,
                                        .entropy_weight = 0.1,
                                        .baseline_decay = 0.8}};
  // baseline 0: −(1·−1 + 3·−2)/2 − 0.1·0.4
  EXPECT_NEAR(reinforce->loss(choices, torch::tensor({1.0, 3.0}, kF64)).item<double>(), 3.46,
              1e-12);
  EXPECT_NEAR(reinforce->baseline(), 2, 1e-12);
  const Tensor second = reinforce->loss(choices, torch::tensor({2.0, 5.0}, kF64));
  second.backward();
  EXPECT_NEAR(logp.grad()[0].item<double>(), 0, 1e-12);  // a reward as usual teaches nothing
  EXPECT_NEAR(logp.grad()[1].item<double>(), -1.5,
              1e-12);  // −(5 − 2)/2: better than usual, so more of it
  EXPECT_NEAR(entropy.grad()[0].item<double>(), -0.05, 1e-12);
  // (0.8·0.2·2 + 0.2·3.5) / (0.8·0.2 + 0.2)
  EXPECT_NEAR(reinforce->baseline(), 1.02 / 0.36, 1e-12);
  EXPECT_EQ(reinforce->named_buffers().size(), 2u);
  EXPECT_EQ(reinforce->loss({}, torch::ones({2})).item<double>(), 0);
}

/// Which key matters is marked, what it says is in another feature; the other keys contradict it.
struct Marked {
  explicit Marked(std::int64_t entries) {
    constexpr std::int64_t kMany = 8;
    keys = torch::randn({entries, kMany, 4});
    place = torch::randint(kMany, {entries});
    const Tensor mark = torch::zeros({entries, kMany}).scatter(1, place.unsqueeze(1), 3.0);
    keys = torch::cat({keys, mark.unsqueeze(-1)}, -1);
    const Tensor said = keys.select(-1, 0).gather(1, place.unsqueeze(1)).squeeze(1);
    label = (said > 0).to(torch::kInt64);
  }
  Tensor keys, place, label;
};

TEST(Reinforce, TeachesHardAttentionWhereToLook) {
  for (const std::uint64_t seed : {1, 2}) {
    torch::manual_seed(seed);
    Attention module(AttentionConfig{.score = "general", .align = {"hard", {{"entropy", 0.02}}}},
                     Problem{.query_dim = 5, .key_dim = 5, .value_dim = 5});
    torch::nn::Linear output(5, 2);
    Reinforce reinforce;
    std::vector<Tensor> parameters = module->parameters();
    for (const Tensor& x : output->parameters()) parameters.push_back(x);
    torch::optim::Adam adam(parameters, torch::optim::AdamOptions(0.02));
    const Tensor query = torch::ones({1, 5});
    const auto look = [&](const Marked& data, Trace& trace) {
      return module->attend(query.expand({data.keys.size(0), 5}), {.data = data.keys}, trace["it"]);
    };
    for (int step = 0; step < 500; ++step) {
      const Marked data(128);
      Trace trace;
      const Tensor each = torch::cross_entropy_loss(output->forward(look(data, trace)), data.label,
                                                    {}, at::Reduction::None);
      adam.zero_grad();
      (each.mean() + reinforce->loss(trace.choices(), -each)).backward();
      adam.step();
    }
    module->eval();
    const Marked data(1000);
    Trace trace = Trace::recording();
    look(data, trace);
    const Tensor weights = trace.map("it").weights.view({1000, -1});
    const double found = weights.gather(1, data.place.unsqueeze(1)).mean().item<double>();
    EXPECT_GT(found, 0.9) << "by chance 0.125; seed " << seed;
  }
}

TEST(Choices, ComeFromTrainingByReinforceAlone) {
  const Problem sizes{.query_dim = 3, .key_dim = 3, .value_dim = 3};
  const auto count = [&](const PartSpec& align, bool training, bool replaced) {
    Attention module(AttentionConfig{.score = "dot", .align = align}, sizes);
    module->train(training);
    Trace trace;
    if (replaced) trace.replace("it", torch::ones({2, 4}) / 4);
    module->attend(torch::randn({2, 3}), {.data = torch::randn({2, 4, 3})}, trace["it"]);
    if (!trace.choices().empty()) {
      EXPECT_EQ(trace.choices().front().logp.sizes().vec(), std::vector<std::int64_t>{2});
      EXPECT_EQ(trace.choices().front().name, "it");
    }
    return trace.choices().size();
  };
  for (const std::string align : {"hard", "reinforced"}) {
    EXPECT_EQ(count(align, true, false), 1u) << align;
    EXPECT_EQ(count(align, false, false), 0u) << align;
    EXPECT_EQ(count(align, true, true), 0u) << align;
  }
  EXPECT_EQ(count({"hard", {{"estimator", std::string("straight-through")}}}, true, false), 0u);
  EXPECT_EQ(count("soft", true, false), 0u);
}

TEST(Choices, DoNotCountPaddingAmongQueriesNorKeys) {
  for (const std::string align : {"hard", "reinforced"}) {
    torch::manual_seed(1);
    Attention module(AttentionConfig{.score = "dot", .align = {align, {{"entropy", 0.1}}}},
                     Problem{.query_dim = 3, .key_dim = 3, .value_dim = 3});
    const Tensor q = torch::randn({1, 5, 3}), k = torch::randn({1, 6, 3});
    const auto choice = [&](const Tensor& queries, const Tensor& keys, const Tensor& of_q,
                            const Tensor& of_k) {
      torch::manual_seed(8);
      Trace trace;
      module->attend({.query = {queries, of_q, "q"}, .keys = {keys, of_k, "k"}}, trace["it"]);
      return trace.choices().front();
    };
    const Choice padded = choice(q, k, torch::tensor({3}), torch::tensor({4})),
                 exact = choice(q.narrow(1, 0, 3), k.narrow(1, 0, 4), {}, {});
    EXPECT_NEAR(padded.logp.item<double>(), exact.logp.item<double>(), 1e-5) << align;
    EXPECT_NEAR(padded.entropy.item<double>(), exact.entropy.item<double>(), 1e-5) << align;
    EXPECT_LT(exact.logp.item<double>(), 0);
    EXPECT_EQ(exact.entropy_weight, 0.1);
  }
}

TEST(Choices, HaveTheEntropyOfTheirDistribution) {
  Game hard({"hard", {{"entropy", 1.0}}}), reinforced({"reinforced", {{"entropy", 1.0}}});
  const auto entropy = [](Game& game) {
    Trace trace;
    game.module->attend(game.query.unsqueeze(0), {.data = game.keys.unsqueeze(0)}, trace["it"]);
    return trace.choices().front().entropy.sum();
  };
  const Tensor log_p = torch::log_softmax(hard.scores(), 0);
  const Tensor of_hard = -(log_p.exp() * log_p).sum();
  const Tensor hidden = torch::tanh(torch::matmul(reinforced.keys, reinforced.param("Ws").t()) +
                                    reinforced.param("bs"));
  const Tensor p = torch::sigmoid(torch::matmul(hidden, reinforced.param("ws")));
  const Tensor of_reinforced = -(p * p.log() + (1 - p) * (1 - p).log()).sum();
  for (const auto& [game, exact] : {std::pair{&hard, of_hard}, {&reinforced, of_reinforced}}) {
    const Tensor ours = entropy(*game);
    EXPECT_NEAR(ours.item<double>(), exact.item<double>(), 1e-6);
    EXPECT_LT((game->gradient(ours) - game->gradient(exact)).abs().max().item<double>(), 1e-6);
  }
}

TEST(Reinforced, AttendsSoftlyToWhatIsAboveOneHalfAndToNothingGivesZero) {
  torch::manual_seed(2);
  const Tensor q = torch::randn({1, 2, 3}, kF64), k = torch::randn({1, 5, 3}, kF64);
  AttendOptions options{
      .score = "dot",
      .align = {"reinforced", {{"mode", std::string("argmax")}, {"act", std::string("identity")}}},
      .params = {{"Ws", torch::eye(3, kF64)},
                 {"ws", torch::tensor({1.0, 0.0, 0.0}, kF64)},
                 {"bs", torch::zeros({3}, kF64)}}};
  options.want.weights = true;
  const Tensor chosen = k.select(-1, 0) > 0;  // the selector looks at the first feature
  ASSERT_TRUE(chosen.any().item<bool>() && !chosen.all().item<bool>());
  const Tensor expected = attend(q, k, k, {.score = "dot", .mask = chosen.unsqueeze(1)}).output;
  const AttendResult some = attend(q, k, k, options);
  EXPECT_LT((some.output - expected).abs().max().item<double>(), 1e-12);
  EXPECT_EQ(torch::where(chosen.unsqueeze(1), 0.0, some.weights).abs().max().item<double>(), 0);
  options.params["bs"] = torch::full({3}, -100.0, kF64);
  EXPECT_EQ(attend(q, k, k, options).output.abs().sum().item<double>(), 0);
}

TEST(Reinforced, DrawsEachKeyByItsProbability) {
  const std::int64_t rows = 20000;
  const Tensor k = torch::tensor({-2.0, -0.5, 0.0, 0.7, 3.0}, kF64).view({1, 5, 1});
  AttendOptions options{.score = "dot",
                        .align = {"reinforced", {{"act", std::string("identity")}}},
                        .params = {{"Ws", torch::ones({1, 1}, kF64)},
                                   {"ws", torch::ones({1}, kF64)},
                                   {"bs", torch::zeros({1}, kF64)}}};
  options.seed = 4;
  options.want.weights = true;
  const Tensor weights = attend(torch::zeros({1, rows, 1}, kF64), k, k, options).weights;
  const Tensor share = (weights > 0).to(kF64).mean(1).flatten();
  EXPECT_LT((share - torch::sigmoid(k.flatten())).abs().max().item<double>(), 0.016);  // 4.5 σ
}

}  // namespace
}  // namespace heed
