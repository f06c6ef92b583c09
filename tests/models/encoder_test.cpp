#include "heed/models/encoder.hpp"

#include <gtest/gtest.h>

#include "heed/base/error.hpp"
#include "models/sentences.hpp"

namespace heed {
namespace {

DataInfo facts(std::vector<InputInfo> inputs) {
  return {.labels = {"no", "yes"},
          .vocabulary = Vocabulary({"a", "b", "c", "d", "e"}),
          .inputs = std::move(inputs)};
}

Config plain(const char* feature) {
  Config config;
  config.feature.model = feature;
  config.feature.dim = 6;
  config.feature.dropout = 0;
  return config;
}

Batch batch_of(const std::vector<Example>& examples, const DataInfo& info) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < examples.size(); ++i) indices.push_back(i);
  return collate(examples, indices, info);
}

TEST(Encoder, AViewIsCutOutOfItsInput) {
  torch::manual_seed(1);
  const DataInfo info = facts({{.name = "text"}, {.name = "target"}});
  std::vector<Example> examples = {
      {.id = "1", .inputs = {{"text", {"a", "b", "c"}}}, .label = "no"},
      {.id = "2", .inputs = {{"text", {"d", "e"}}}, .label = "yes"}};
  examples[0].views["target"] = {.of = "text", .begin = 1, .end = 3};
  examples[1].views["target"] = {.of = "text", .begin = 2, .end = 2};
  Encoder encoder(plain("embedding"), info, std::vector<std::string>{"text", "target"});
  const Inputs inputs = encoder->forward(batch_of(examples, info));
  const Tensor whole = inputs["text"].data, part = inputs["target"].data;
  EXPECT_TRUE(torch::equal(part[0], whole[0].narrow(0, 1, 2)));
  EXPECT_TRUE(torch::equal(inputs["target"].lengths, torch::tensor({2, 0})));
}

TEST(Encoder, SentencesAreEncodedOneByOne) {
  const DataInfo info = facts({{.name = "text", .levels = 1}});
  const Example together{.id = "1",
                         .inputs = {{"text", {"a", "b", "c", "d", "e"}}},
                         .label = "no",
                         .gold = {},
                         .levels = {{"text", {{2, 3}}}}};
  const Example first{.id = "2",
                      .inputs = {{"text", {"a", "b"}}},
                      .label = "no",
                      .gold = {},
                      .levels = {{"text", {{2}}}}};
  const Example uneven{.id = "3",  // one sentence is far longer than the others
                       .inputs = {{"text", {"c", "d", "e", "a", "b", "c", "d", "a", "b"}}},
                       .label = "no",
                       .gold = {},
                       .levels = {{"text", {{1, 6, 2}}}}};
  for (const char* feature : {"bigru", "lstm", "cnn"}) {
    torch::manual_seed(1);
    Encoder encoder(plain(feature), info, std::vector<std::string>{"text"});
    encoder->eval();
    const Tensor both = encoder->forward(batch_of({together, first, uneven}, info))["text"].data;
    const Tensor alone = encoder->forward(batch_of({first}, info))["text"].data;
    EXPECT_TRUE(torch::allclose(both[2].narrow(0, 7, 2), alone[0], 1e-5, 1e-6)) << feature;
    EXPECT_TRUE(torch::equal(both[1].slice(0, 2), torch::zeros_like(both[1].slice(0, 2))));
    EXPECT_TRUE(torch::allclose(both[0].narrow(0, 0, 2), alone[0], 1e-5, 1e-6)) << feature;
    EXPECT_TRUE(torch::allclose(both[1].narrow(0, 0, 2), alone[0], 1e-5, 1e-6)) << feature;
  }
}

TEST(Sentences, ArePooledByMeanOrPosition) {
  const Tensor data = torch::arange(1, 13, torch::kFloat32).view({1, 6, 2});
  const Input x{.data = data,
                .lengths = torch::tensor({5}),
                .name = "",
                .levels = {{.sizes = torch::tensor({{2, 3}}), .lengths = torch::tensor({2})}}};
  const Tensor mean = pool_sentences(x, "mean").data;
  EXPECT_TRUE(torch::allclose(mean[0][0], data[0].narrow(0, 0, 2).mean(0)));
  EXPECT_TRUE(torch::allclose(mean[0][1], data[0].narrow(0, 2, 3).mean(0)));
  // (1 − j/J) − (k/d)(1 − 2j/J), written out.
  const Tensor weighed = pool_sentences(x, "position").data;
  for (int k = 1; k <= 2; ++k) {
    double sum = 0;
    for (int j = 1; j <= 3; ++j) {
      const double weight = (1 - j / 3.0) - (k / 2.0) * (1 - 2 * j / 3.0);
      sum += weight * data[0][1 + j][k - 1].item<double>();
    }
    EXPECT_NEAR(weighed[0][1][k - 1].item<double>(), sum, 1e-5);
  }
}

TEST(Encoder, AgesCountFromTheLastSentence) {
  Config config = plain("embedding");
  config.feature.pool = "mean";
  config.feature.time = 2;
  const DataInfo info = facts({{.name = "story", .levels = 1}});
  const Example longer{.id = "1",
                       .inputs = {{"story", {"a", "a", "a"}}},
                       .label = "no",
                       .gold = {},
                       .levels = {{"story", {{1, 1, 1}}}}};
  const Example shorter{.id = "2",
                        .inputs = {{"story", {"a"}}},
                        .label = "no",
                        .gold = {},
                        .levels = {{"story", {{1}}}}};
  Encoder encoder(config, info, std::vector<std::string>{"story"});
  const Tensor x = encoder->forward(batch_of({longer, shorter}, info))["story"].data;
  EXPECT_TRUE(torch::allclose(x[0][2], x[1][0]));  // both are the last
  EXPECT_FALSE(torch::allclose(x[0][1], x[0][2]));
  EXPECT_TRUE(torch::allclose(x[0][0], x[0][1]));  // the oldest share one
  config.feature.pool = "none";
  EXPECT_THROW(Encoder(config, info, std::vector<std::string>{"story"}), InputError);
}

TEST(Encoder, NoisyAgesGrowFromTheLastSentenceBack) {
  Config config = plain("embedding");
  config.feature.pool = "mean";
  config.feature.time = 40;
  config.feature.time_noise = 0.5;
  const DataInfo info = facts({{.name = "story", .levels = 1}});
  const Example story{.id = "1",
                      .inputs = {{"story", {"a", "a", "a", "a"}}},
                      .label = "no",
                      .gold = {},
                      .levels = {{"story", {{1, 1, 1, 1}}}}};
  Encoder encoder(config, info, std::vector<std::string>{"story"});
  {
    torch::NoGradGuard no_grad;  // the vector of an age says the age
    for (const auto& item : encoder->named_parameters()) {
      item.value().zero_();
      if (item.key() == "ages") item.value().copy_(torch::arange(40).unsqueeze(1));
    }
  }
  const auto ages = [&] {
    return encoder->forward(batch_of({story}, info))["story"].data[0].select(1, 0).clone();
  };
  encoder->eval();
  EXPECT_TRUE(torch::equal(ages(), torch::tensor({3.0F, 2.0F, 1.0F, 0.0F})));
  encoder->train();
  torch::manual_seed(3);
  double sum = 0;
  for (int i = 0; i < 200; ++i) {
    const Tensor found = ages();
    EXPECT_GE((found.narrow(0, 0, 3) - found.narrow(0, 1, 3)).min().item<double>(), 1);
    sum += found[0].item<double>();
  }
  EXPECT_NEAR(sum / 200, 3 + 4 * 0.5, 0.3);
}

}  // namespace
}  // namespace heed
