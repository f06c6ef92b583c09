#include "heed/models/bert.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "models/tiny_bert.hpp"
#include "source_dir.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::kTinyConfig;
using testing::message_of;
using testing::tiny_weights;
using testing::TinyModel;
using Sentence = std::vector<std::string>;

double apart(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

const std::vector<Sentence> kTwo = {{"a", "b", "c"}, {"d"}};

// Computed with transformers 5.22.2, BertModel in float32, padded batch with an attention mask.
TEST(Bert, EveryLayerEqualsThePublishedImplementation) {
  const TinyModel model;
  const Tensor first_word[] = {torch::tensor({-1.050092, -1.25213, -1.075934, -0.51379, 0.295159,
                                              1.116727, 1.718608, 1.965167}),
                               torch::tensor({-1.597501, 0.531394, -1.14776, 1.254411, -1.172381,
                                              2.200921, -0.430107, 2.19206}),
                               torch::tensor({-1.237033, -0.596235, -1.28092, -0.291386, -0.76293,
                                              1.015683, 0.800175, 2.863767})};
  const Tensor second_sentence[] = {torch::tensor({-0.002279, -0.770038, -1.157184, -0.993779,
                                                   -0.317831, 0.638163, 1.552443, 2.158157}),
                                    torch::tensor({-1.527244, 0.126425, -1.2876, 0.765441,
                                                   -1.135096, 1.957345, 0.138662, 2.740304}),
                                    torch::tensor({-1.205333, -0.770389, -1.236193, -0.506078,
                                                   -0.553847, 0.839763, 1.288988, 2.874087})};
  for (std::int64_t layer = 0; layer <= 2; ++layer) {
    TextEncoder encoder(model.folder(), {.layers = layer});
    encoder.eval();
    const Tensor vectors = encoder.word_vectors(kTwo);
    ASSERT_EQ(vectors.sizes(), (std::vector<std::int64_t>{4, 8}));
    EXPECT_LT(apart(vectors[0], first_word[layer]), 3e-6) << "layer " << layer;
    EXPECT_LT(apart(vectors[3], second_sentence[layer]), 3e-6) << "layer " << layer;
  }
  const Tensor sentences = torch::tensor(
      {{-0.259545, -0.213733, -0.337653, -0.262739, -0.061366, 0.014159, 0.660987, 0.512876},
       {-0.307631, -0.161987, -0.371658, -0.224403, -0.041195, 0.020197, 0.72472, 0.40412}});
  TextEncoder whole(model.folder());
  whole.eval();
  EXPECT_LT(apart(whole.sentence_vectors(kTwo), sentences), 2e-6);
}

// Computed in the same way, [CLS] a b c [SEP] d [SEP] with token types 0 0 0 0 0 1 1.
TEST(Bert, APartnerIsTheSecondTextOfAPair) {
  const TinyModel model;
  TextEncoder encoder(model.folder());
  encoder.eval();
  const std::vector<Sentence> text = {{"a", "b", "c"}}, partner = {{"d"}};
  const Tensor vectors = encoder.word_vectors(text, partner);
  ASSERT_EQ(vectors.size(0), 3);
  EXPECT_LT(apart(vectors[0], torch::tensor({-1.227605, -0.595508, -1.283462, -0.288149, -0.778597,
                                             1.020957, 0.767821, 2.884429})),
            3e-6);
  EXPECT_LT(apart(vectors[2], torch::tensor({-1.155234, -0.777534, -1.254450, -0.504814, -0.627018,
                                             0.856812, 1.166006, 2.994654})),
            3e-6);
}

TEST(Bert, AWordIsTheMeanOfItsPieces) {
  const TinyModel model;
  TextEncoder encoder(model.folder());
  encoder.eval();
  // "ac" and "ce" are a ##c and c ##e; the same pieces as five words' first five are not words.
  const std::vector<Sentence> words = {{"ac", "b", "ce"}};
  const Tensor vectors = encoder.word_vectors(words);
  Bert bert({.layers = 2, .width = 8, .heads = 2, .inner = 16, .vocabulary = 12, .positions = 16});
  bert.load(model.folder() / "model.safetensors");
  const Tensor states =
      bert.forward(torch::tensor({2, 5, 8, 6, 7, 11, 3}), torch::tensor({0, 7})).back();
  EXPECT_LT(apart(vectors[0], (states[1] + states[2]) / 2), 1e-6);
  EXPECT_LT(apart(vectors[1], states[3]), 1e-6);
  EXPECT_LT(apart(vectors[2], (states[4] + states[5]) / 2), 1e-6);
}

TEST(Bert, ASentenceIsTheSameAloneAndAmongOthers) {
  const TinyModel model;
  TextEncoder encoder(model.folder());
  encoder.eval();
  const std::vector<Sentence> many = {{"a", "b"}, {}, {"c", "d", "e", "ac"}, {"d"}};
  const Tensor together = encoder.word_vectors(many);
  std::int64_t row = 0;
  for (const Sentence& sentence : many) {
    const std::vector<Sentence> one = {sentence};
    const Tensor alone = encoder.word_vectors(one);
    ASSERT_EQ(alone.size(0), static_cast<std::int64_t>(sentence.size()));
    // torch's matrix products differ in the last bits with the number of rows.
    EXPECT_TRUE(torch::allclose(together.narrow(0, row, alone.size(0)), alone, 0, 1e-5));
    row += alone.size(0);
  }
  EXPECT_EQ(row, together.size(0));
}

TEST(Bert, LongSentencesGoInRunsOfWholeWords) {
  const TinyModel model;
  TextEncoder encoder(model.folder());
  encoder.eval();
  const Sentence fourteen(14, "a"), rest(6, "b");  // 16 positions: 14 pieces and two specials
  Sentence all = fourteen;
  all.insert(all.end(), rest.begin(), rest.end());
  const std::vector<Sentence> together = {all}, apart_ones = {fourteen, rest};
  EXPECT_LT(apart(encoder.word_vectors(together), encoder.word_vectors(apart_ones)), 1e-6);
}

TEST(Bert, TrainsItsLayersAndNotItsTables) {
  const TinyModel model;
  torch::manual_seed(1);
  TextEncoder encoder(model.folder(), {.dropout = 0.1});
  encoder.train();
  const Tensor once = encoder.word_vectors(kTwo), again = encoder.word_vectors(kTwo);
  EXPECT_GT(apart(once, again), 1e-3) << "no dropout in training";
  once.pow(2).sum().backward();
  std::size_t trained = 0;
  for (const auto& parameter : encoder.named_parameters()) {
    EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_EQ(parameter.key().find("words"), std::string::npos);
    ++trained;
  }
  EXPECT_EQ(trained, 2u + 2 * 12);
}

// One weight moved, the loss's change against its gradient: attention, norms and GELU at once.
TEST(Bert, GradientsAreThoseOfTheLoss) {
  const TinyModel model;
  TextEncoder encoder(model.folder());
  encoder.to(torch::kFloat64);
  const auto loss = [&] { return encoder.word_vectors(kTwo).pow(3).sum(); };
  loss().backward();
  for (const auto& parameter : encoder.named_parameters()) {
    const Tensor flat = parameter.value().data().view(-1);
    const std::int64_t j = flat.numel() / 2;
    const double kept = flat[j].item<double>(), step = 1e-5;
    flat[j] = kept + step;
    const double above = loss().item<double>();
    flat[j] = kept - step;
    const double below = loss().item<double>();
    flat[j] = kept;
    const double slope = (above - below) / (2 * step);
    EXPECT_NEAR(parameter.value().grad().view(-1)[j].item<double>(), slope,
                1e-5 * std::max(1.0, std::abs(slope)))
        << parameter.key();
  }
}

TEST(Bert, FoldersOfAnotherModelAreInputErrors) {
  const TinyModel model;
  const auto load = [&] { return message_of([&] { TextEncoder{model.folder()}; }); };
  const auto with_config = [&](const std::string& from, const std::string& to) {
    std::string text = kTinyConfig;
    text.replace(text.find(from), from.size(), to);
    model.scratch.write("config.json", text);
    return load();
  };
  expect_parts(with_config("\"bert\"", "\"t5\""), {"config.json:1:", "'t5'", "'bert'"});
  expect_parts(with_config("\"gelu\"", "\"relu\""), {"hidden_act", "'relu'"});
  expect_parts(with_config("\"hidden_size\": 8", "\"hidden_size\": 10"), {"safetensors", "12×8"});
  expect_parts(with_config("\"hidden_size\": 8", "\"hidden_size\": 9"),
               {"config.json:1:", "9", "2 heads"});
  expect_parts(with_config("\"hidden_size\": 8", "\"hidden_size\": -8"), {"'hidden_size'"});
  expect_parts(with_config("\"vocab_size\": 12", "\"vocab_size\": 13"), {"12 pieces", "13"});
  expect_parts(with_config("_layers\": 2", "_layers\": 3"), {"config.json:1:", "encoder.layer.2."});
  expect_parts(with_config("_layers\": 2", "_layers\": 9999999"), {"config.json:1:", "9999999"});
  // Each of these would take all memory if it were believed.
  expect_parts(with_config("\"hidden_size\": 8", "\"hidden_size\": 9999998"),
               {"config.json:1:", "'hidden_size'", "12×9999998", "12×8"});
  expect_parts(with_config("\"intermediate_size\": 16", "\"intermediate_size\": 9999999"),
               {"config.json:1:", "'intermediate_size'", "9999999×8", "16×8"});
  expect_parts(with_config("_embeddings\": 16", "_embeddings\": 9999999"),
               {"config.json:1:", "'max_position_embeddings'", "9999999×8", "16×8"});
  for (const char* eps : {"\"x\"", "null", "-5", "0", "[1]"}) {
    expect_parts(with_config("1e-12", eps), {"config.json:1:", "'layer_norm_eps'", "above 0"});
  }
  expect_parts(with_config("{", "["), {"config.json:1:"});
  model.scratch.write("config.json", kTinyConfig);
  expect_parts(message_of([&] { TextEncoder(model.folder(), {.layers = 3}); }), {"layer 3", "2"});
  auto weights = tiny_weights();
  weights[3].second = torch::full_like(weights[3].second, std::nan(""));
  write_safetensors(model.folder() / "model.safetensors", weights);
  expect_parts(load(), {"model.safetensors", "NaN"});
  std::filesystem::remove(model.folder() / "model.safetensors");
  expect_parts(load(), {"model.safetensors"});
}

std::filesystem::path minilm_folder() {
  const char* given = std::getenv("HEED_MINILM");
  return given != nullptr ? given : std::string(kSourceDir) + "/build/vectors/minilm";
}

// Computed with sentence-transformers 6.2.0 (transformers 5.22.2): the first eight of 384 numbers.
TEST(MiniLm, SentenceVectorsEqualSentenceTransformers) {
  const auto folder = minilm_folder();
  if (!std::filesystem::exists(folder / "model.safetensors")) {
    GTEST_SKIP() << "no " << folder.string()
                 << "; 'heed import minilm --out build/vectors/minilm' brings it";
  }
  TextEncoder encoder(folder);
  encoder.eval();
  const std::vector<Sentence> sentences = {
      {"The", "battery", "life", "is", "good", "."},
      {"I", "can't", "say", "the", "food", "was", "terrible,", "but", "the", "café's",
       "service..."},
      {"attention"},
      {"Über", "naïve", "résumés:", "1,234.5%", "of", "日本語", "text", "—", "really?"}};
  const Tensor expected = torch::tensor(
      {{-0.027064, 0.0080805, 0.0087342, 0.012245, -0.0083921, 0.0324773, -0.0327544, -0.003059},
       {0.0524133, 0.0582781, 0.020619, 0.0766647, -0.0642266, -0.0108516, -0.0091137, -0.0362785},
       {0.024932, 0.0255821, -0.0316352, 0.0151468, 0.0419583, 0.0239009, 0.0787667, 0.0203326},
       {0.0041521, -0.0115529, 0.0673876, -0.0013378, 0.0048236, 0.0354284, 0.0164688, 0.012892}});
  const torch::NoGradGuard fixed;
  const Tensor vectors = encoder.sentence_vectors(sentences);
  EXPECT_LT(apart(vectors.slice(1, 0, 8), expected), 1e-6);
  EXPECT_LT(apart(vectors.norm(2, 1), torch::ones({4})), 1e-6);
}

}  // namespace
}  // namespace heed
