#include "heed/models/translate_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "heed/base/error.hpp"
#include "heed/data/language.hpp"
#include "heed/mechanisms/transformer.hpp"
#include "heed/models/point_model.hpp"
#include "models/beam_search.hpp"
#include "models/word_loss.hpp"

namespace heed {
namespace {

Config config_of(const std::string& decoder) {
  Config config;
  config.task.source.kind = "translate";
  config.feature = {.model = "bigru", .dim = 16, .dropout = 0};
  if (decoder == "transformer") {
    config.feature.model = {"transformer", {{"heads", std::int64_t{2}}}};
    config.attention.score = "scaled-dot";
  }
  config.output = PartSpec(decoder, {{"beam", std::int64_t{3}}});
  return config;
}

struct Made {
  Dataset data = language({.train = 12, .val = 1, .test = 1});
  DataInfo info = data_info(Config(), data);
  std::vector<std::size_t> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  Batch batch = collate(data.train, all, info);
};

// The log p of the right words and ends, a step at a time.
std::vector<double> stepwise(TranslateModel& model, const Made& made) {
  const torch::NoGradGuard no_grad;
  const Input memory = model.memory(made.batch);
  const auto stepper = model.decoder().start(memory, 1);
  const std::int64_t B = made.batch.size(), T = made.batch.target.ids.size(1);
  Tensor last = torch::zeros({B}, torch::kInt64);
  std::vector<double> sums(static_cast<std::size_t>(B), 0.0);
  for (std::int64_t t = 0; t <= T; ++t) {
    const Tensor logp = stepper->step(last, false).logp;
    for (std::int64_t b = 0; b < B; ++b) {
      const auto length = made.batch.target.lengths[b].item<std::int64_t>();
      if (t > length) continue;
      const auto word =
          t == length ? std::int64_t{0} : made.batch.target.ids[b][t].item<std::int64_t>();
      sums[static_cast<std::size_t>(b)] += logp[b][word].item<double>();
    }
    if (t < T) last = made.batch.target.ids.select(1, t);
    stepper->reorder(torch::arange(B));
  }
  return sums;
}

class Decoders : public testing::TestWithParam<std::string> {};

TEST_P(Decoders, TeacherForcingIsTheSumOfItsSteps) {
  torch::manual_seed(1);
  const Made made;
  TranslateModel model(config_of(GetParam()), made.info);
  model.eval();
  const torch::NoGradGuard no_grad;
  Trace trace;
  const Tensor losses = model.losses(made.batch, trace);
  double words = 0;
  for (const Example& example : made.data.train) words += 1.0 + double(example.target.size());
  double sum = 0;
  const std::vector<double> steps = stepwise(model, made);
  for (const double logp : steps) sum -= logp;
  EXPECT_NEAR(losses.mean().item<double>(), sum / words, 1e-5);
  model.answer_quickly(true);
  const Reply reply = model.answer(made.batch, trace);
  for (std::size_t b = 0; b < made.all.size(); ++b) {
    const auto& log_probs = reply.predictions[b].log_probs;
    EXPECT_EQ(log_probs.size(), made.data.train[b].target.size() + 1);
    EXPECT_NEAR(std::accumulate(log_probs.begin(), log_probs.end(), 0.0), steps[b], 1e-4);
  }
}

TEST_P(Decoders, WhatIsReadTogetherIsReadAlone) {
  torch::manual_seed(2);
  const Made made;
  TranslateModel model(config_of(GetParam()), made.info);
  model.eval();
  const torch::NoGradGuard no_grad;
  Trace trace = Trace::recording();
  const Reply together = model.answer(made.batch, trace);
  for (const std::size_t b : {0, 5, 11}) {
    Trace alone = Trace::recording();
    const std::vector<std::size_t> one = {b};
    const Reply reply = model.answer(collate(made.data.train, one, made.info), alone);
    EXPECT_EQ(reply.predictions[0].sequence, together.predictions[b].sequence);
    const TraceMap &map = alone.maps().back(), &among = trace.maps().back();
    EXPECT_EQ(map.query_input, "target");
    EXPECT_EQ(map.key_input, "text");
    EXPECT_TRUE(
        torch::allclose(map.entry(0), among.entry(static_cast<std::int64_t>(b)), 1e-4, 1e-5));
    EXPECT_EQ(map.entry(0).size(1),
              static_cast<std::int64_t>(reply.predictions[0].sequence.size()) + 1);
    EXPECT_EQ(map.entry(0).size(2),
              static_cast<std::int64_t>(made.data.train[b].inputs.at("text").size()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Decoders, testing::Values("gru", "transformer"));

TEST(TransformerDecoderSteps, EqualTheWholeForEveryPositionAndNorm) {
  const torch::NoGradGuard no_grad;
  for (const char* position : {"none", "sinusoidal", "learned", "rope", "alibi", "relative"}) {
    for (const bool norm_first : {false, true}) {
      torch::manual_seed(4);
      AttentionSpec parts{.score = "scaled-dot"};
      parts.queries = {"multi-head", {{"heads", std::int64_t{2}}}};
      parts.position = position;
      TransformerDecoder decoder(
          TransformerOptions{.parts = parts, .dim = 8, .layers = 2, .norm_first = norm_first});
      decoder->eval();
      const Input memory{
          .data = torch::randn({2, 4, 8}), .lengths = torch::tensor({4, 2}), .name = "text"};
      const Tensor x = torch::randn({6, 5, 8});  // three rows read each text
      const Input repeated{.data = memory.data.repeat_interleave(3, 0),
                           .lengths = memory.lengths.repeat_interleave(3, 0),
                           .name = "text"};
      Trace trace;
      const Tensor whole =
          decoder->forward({.data = x, .lengths = {}, .name = "target"}, repeated, trace["d"]);
      std::vector<Tensor> kept;
      for (std::int64_t t = 0; t < 5; ++t) {
        const Tensor one = decoder->step(x.narrow(1, t, 1), memory, kept, trace["d"]);
        EXPECT_TRUE(torch::allclose(one, whole.narrow(1, t, 1), 1e-4, 1e-5))
            << position << " at " << t;
      }
    }
  }
}

TEST(WordLoss, IsTorchsCrossEntropyWithItsGradients) {
  torch::manual_seed(6);
  for (const double smoothing : {0.0, 0.1}) {
    std::vector<std::vector<Tensor>> gradients;
    std::vector<Tensor> losses;
    const Tensor right = torch::randint(37, {150}, torch::kInt64), weights = torch::rand({150});
    const Tensor x = torch::randn({150, 8}), t = torch::randn({37, 8}), b = torch::randn({37});
    for (const bool ours : {false, true}) {
      const Tensor states = x.clone().requires_grad_(), table = t.clone().requires_grad_(),
                   bias = b.clone().requires_grad_();
      losses.push_back(ours ? word_loss(states, table, bias, right, smoothing)
                            : torch::cross_entropy_loss(torch::linear(states, table, bias), right,
                                                        {}, at::Reduction::None, -100, smoothing));
      (losses.back() * weights).sum().backward();
      gradients.push_back({states.grad(), table.grad(), bias.grad()});
    }
    EXPECT_TRUE(torch::allclose(losses[0], losses[1], 1e-5, 1e-5));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(torch::allclose(gradients[0][i], gradients[1][i], 1e-4, 1e-5)) << i;
  }
}

std::string complaint(const Config& config) {
  try {
    TranslateModel(config, Made().info);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TranslateModel, RefusesWhatCannotWrite) {
  Config config = config_of("gru");
  config.output = "softmax";
  EXPECT_THAT(complaint(config), testing::HasSubstr("[output] model = \"gru\""));
  config = config_of("gru");
  config.attention.mechanism = "rotatory";
  EXPECT_THAT(complaint(config), testing::HasSubstr("leave the mechanism 'singular'"));
}

TEST(PointModel, LossIsThePointersAndAnswersAreWithinTheLength) {
  torch::manual_seed(5);
  Config config;
  config.task.source.kind = "point";
  config.feature = {.model = "bilstm", .dim = 16, .dropout = 0};
  config.output = PartSpec("pointer");
  DataInfo info{.labels = {}, .vocabulary = {}, .inputs = {{.name = "points", .width = 2}}};
  std::vector<Example> examples(3);
  for (std::size_t i = 0; i < 3; ++i) {
    examples[i].values["points"] = {.width = 2, .data = std::vector<float>(2 * (i + 3), 0.1f)};
    for (std::size_t p = 0; p < examples[i].values["points"].data.size(); ++p)
      examples[i].values["points"].data[p] += 0.07f * static_cast<float>(p * (i + 1) % 5);
    examples[i].target = {"2", "0", "1"};
  }
  examples[1].target = {"3"};
  PointModel model(config, info);
  model.eval();
  const torch::NoGradGuard no_grad;
  const std::vector<std::size_t> all = {0, 1, 2};
  Trace trace = Trace::recording();
  const Reply together = model.answer(collate(examples, all, info), trace);
  double sum = 0;
  for (const std::size_t i : all) {
    Trace alone;
    const std::vector<std::size_t> one = {i};
    const Reply reply = model.answer(collate(examples, one, info), alone);
    EXPECT_EQ(reply.predictions[0].sequence, together.predictions[i].sequence);
    for (const std::string& place : reply.predictions[0].sequence)
      EXPECT_LT(std::stoul(place), i + 3);
    sum += reply.losses[0].item<double>() * (1.0 + double(examples[i].target.size()));
  }
  // Alone a loss is the mean of its own places; together all places count alike.
  EXPECT_NEAR(together.losses.mean().item<double>(), sum / (4 + 2 + 4), 1e-5);
  EXPECT_EQ(trace.map("pointer").entry(0).size(2), 3);
}

}  // namespace
}  // namespace heed
