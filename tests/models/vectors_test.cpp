#include <gtest/gtest.h>

#include "heed/models/bert.hpp"
#include "heed/models/config.hpp"
#include "heed/models/encoder.hpp"
#include "heed/models/feature.hpp"
#include "heed/models/task_model.hpp"
#include "models/feature_cache.hpp"
#include "models/tiny_bert.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::message_of;
using testing::Scratch;
using testing::TinyModel;
using Words = std::vector<std::string>;

/// Makes the part and what it needs to know.
struct Making {
  Config config;
  DataInfo info{.labels = {}, .vocabulary = Vocabulary({"a", "b", "zzz"})};

  std::shared_ptr<VectorModel> make(const std::string& id, Options options,
                                    std::int64_t width = 0) const {
    const PartInfo& part = registry().find_built(Group::vectors, id);
    return std::get<MakeVectors>(part.make)({.config = config,
                                             .info = info,
                                             .input = {.name = "text", .width = width},
                                             .dim = 5,
                                             .options = resolve(part, options, "vectors")});
  }

  Padded padded(const std::vector<Words>& texts) const {
    std::vector<Example> examples;
    std::vector<std::size_t> indices;
    for (const Words& text : texts) {
      indices.push_back(indices.size());
      examples.push_back({.id = "x", .inputs = {{"text", text}}, .label = "", .gold = {}});
    }
    return collate(examples, indices, info).inputs.at("text");
  }
};

TEST(FileVectors, AreTheFilesAlsoForWordsThatTrainingLacks) {
  const Scratch scratch;
  const std::string path = scratch.write("v.txt", "a 1 2\nb 3 4\nc 5 6\nnot 7 8\n");
  const Making making;
  torch::manual_seed(1);
  const auto model = making.make("file", {{"path", path}});
  EXPECT_EQ(model->output_dim(), 2);
  const Tensor out = model->forward(making.padded({{"b", "c", "n't", "a-c"}, {"zzz", "qqq"}})).data;
  const Tensor expected = torch::tensor({{3.0f, 4.0f}, {5.0f, 6.0f}, {7.0f, 8.0f}, {3.0f, 4.0f}});
  EXPECT_TRUE(torch::equal(out[0], expected));
  EXPECT_LE(out[1][0].abs().max().item<float>(), 0.25f);  // known to the data, not to the file
  EXPECT_GT(out[1][0].abs().max().item<float>(), 0.0f);
  EXPECT_TRUE(torch::equal(out[1][1], torch::tensor({4.0f, 5.0f})));  // to neither: the mean
  EXPECT_TRUE(torch::equal(out[1].slice(0, 2), torch::zeros({2, 2})));
  EXPECT_TRUE(model->parameters().empty());
  EXPECT_EQ(model->buffers().size(), 1u);
}

TEST(FileVectors, TuneUnderANameTheOptimiserKnows) {
  const Scratch scratch;
  const std::string path = scratch.write("v.txt", "a 1 2\nb 3 4\nc 5 6\n");
  const Making making;
  const auto model = making.make("file", {{"path", path}, {"tune", true}});
  const auto parameters = model->named_parameters();
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_EQ(parameters[0].key(), "tuned.table");
  model->forward(making.padded({{"a", "c", "a"}})).data.sum().backward();
  const Tensor gradient = parameters[0].value().grad();
  EXPECT_EQ(gradient[2][0].item<float>(), 2.0f);  // "a", twice
  EXPECT_EQ(gradient.sum().item<float>(), 4.0f);  // "c" is the file's, and stays
}

TEST(FileVectors, MistakesAreOneLine) {
  const Scratch scratch;
  const Making making;
  expect_parts(message_of([&] { making.make("file", {}); }), {"'path'", "heed import"});
  expect_parts(message_of([&] { making.make("file", {{"path", "no/v.txt"}}); }), {"no/v.txt"});
  const std::string other = scratch.write("other.txt", "le 1\nla 2\n");
  expect_parts(message_of([&] {
                 making.make("file", {{"path", other}});
               }),
               {"other.txt", "none of the 3 words"});
  expect_parts(message_of([&] { making.make("file", {{"path", other}}, 4); }), {"numbers"});
  expect_parts(message_of([&] { making.make("pretrained", {{"path", other}}, 4); }), {"numbers"});
  expect_parts(message_of([&] { making.make("pretrained", {}); }), {"'path'"});
}

Options pretrained(const TinyModel& model, const std::string& cache, bool tune = false) {
  return {{"path", model.folder().string()}, {"cache", cache}, {"tune", tune}};
}

TEST(PretrainedVectors, AreTheEncodersWithPaddingZero) {
  const TinyModel tiny;
  const Making making;
  const std::vector<Words> texts = {{"a", "b", "ce"}, {"d"}};
  TextEncoder encoder(tiny.folder());
  encoder.eval();
  const Tensor rows = encoder.word_vectors(texts);
  for (const bool tune : {false, true}) {
    const auto model = making.make("pretrained", pretrained(tiny, "none", tune));
    model->eval();
    EXPECT_EQ(model->output_dim(), 8);
    const Tensor out = model->forward(making.padded(texts)).data;
    EXPECT_TRUE(torch::allclose(out[0], rows.slice(0, 0, 3), 0, 1e-5)) << tune;
    EXPECT_TRUE(torch::allclose(out[1][0], rows[3], 0, 1e-5)) << tune;
    EXPECT_TRUE(torch::equal(out[1].slice(0, 1), torch::zeros({2, 8}))) << tune;
  }
}

TEST(PretrainedVectors, WordsKnowThePartnerTheyAreReadWith) {
  const TinyModel tiny;
  const Scratch scratch;
  Making making;
  making.info.inputs = {{.name = "text"}, {.name = "target"}};
  const std::vector<Words> texts = {{"a", "b", "ce"}, {"d"}}, asked = {{"b"}, {"a", "c"}};
  // A partner stands behind the text like more of it: [CLS] text [SEP] partner [SEP].
  TextEncoder encoder(tiny.folder());
  encoder.eval();
  const Tensor rows = encoder.word_vectors(texts, asked);
  EXPECT_EQ(rows.size(0), 4);
  EXPECT_FALSE(torch::allclose(rows, encoder.word_vectors(texts), 0, 1e-3));
  EXPECT_FALSE(torch::allclose(rows[3], encoder.word_vectors(texts, texts)[3], 0, 1e-3));
  for (const bool tune : {false, true}) {
    Options options = pretrained(tiny, scratch.folder().string(), tune);
    options["partner"] = std::string("target");
    const auto model = making.make("pretrained", options);
    model->eval();
    EXPECT_EQ(model->partner(), "target");
    for (int time = 0; time < 2; ++time) {  // computed, then from the cache
      const Tensor out = model->forward(making.padded(texts), asked).data;
      EXPECT_TRUE(torch::allclose(out[0], rows.slice(0, 0, 3), 0, 1e-5)) << tune;
      EXPECT_TRUE(torch::allclose(out[1][0], rows[3], 0, 1e-5)) << tune;
    }
    const Tensor other = model->forward(making.padded(texts), texts).data;
    EXPECT_FALSE(torch::allclose(other[0], rows.slice(0, 0, 3), 0, 1e-3)) << tune;
  }
  Options wrong = pretrained(tiny, "none");
  wrong["partner"] = std::string("targte");
  expect_parts(message_of([&] { making.make("pretrained", wrong); }), {"'targte'", "text, target"});
}

TEST(PretrainedVectors, APartnerMayBeAViewOfTheText) {
  const TinyModel tiny;
  Making making;
  making.info.inputs = {{.name = "text"}, {.name = "target"}};
  Options options = pretrained(tiny, "none");
  options["partner"] = std::string("target");
  making.config.feature.vectors = {"pretrained", options};
  making.config.feature.model = "embedding";
  making.config.feature.dropout = 0;
  std::vector<Example> examples = {{.id = "1", .inputs = {{"text", {"a", "b", "c"}}}, .label = ""}};
  examples[0].views["target"] = {.of = "text", .begin = 1, .end = 3};
  const std::size_t index = 0;
  Encoder encoder(making.config, making.info, std::vector<std::string>{"text", "target"});
  encoder->eval();
  const Batch batch = collate(examples, {&index, 1}, making.info);
  TextEncoder plain(tiny.folder());
  plain.eval();
  const std::vector<Words> texts = {{"a", "b", "c"}}, asked = {{"b", "c"}};
  EXPECT_TRUE(torch::allclose(encoder->vectors(batch, "text").data[0],
                              plain.word_vectors(texts, asked), 0, 1e-5));
}

TEST(PretrainedVectors, AFixedOneIsNoPartOfTheRunAndATunedOneIs) {
  const TinyModel tiny;
  const Making making;
  const auto fixed = making.make("pretrained", pretrained(tiny, "none"));
  EXPECT_TRUE(fixed->parameters().empty());
  EXPECT_TRUE(fixed->buffers().empty());
  const auto tuned = making.make("pretrained", pretrained(tiny, "none", true));
  const Tensor out = tuned->forward(making.padded({{"a", "b"}, {"c"}})).data;
  out.pow(2).sum().backward();
  EXPECT_EQ(tuned->parameters().size(), 2u + 2 * 12);
  for (const auto& parameter : tuned->named_parameters()) {
    EXPECT_TRUE(parameter.key().starts_with("tuned.")) << parameter.key();
    EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
  }
}

TEST(PretrainedVectors, SentencesOfADocumentAreReadOneByOne) {
  const TinyModel tiny;
  Making making;
  const std::vector<Words> sentences = {{"a", "b"}, {"c"}, {"d", "e", "a"}};
  std::vector<Example> document = {
      {.id = "x", .inputs = {{"text", {"a", "b", "c", "d", "e", "a"}}}, .label = "", .gold = {}}};
  document[0].levels["text"] = {{2, 1, 3}};
  const std::size_t index = 0;
  const Padded padded = collate(document, {&index, 1}, making.info).inputs.at("text");
  TextEncoder encoder(tiny.folder());
  encoder.eval();
  const Tensor rows = encoder.word_vectors(sentences);
  for (const bool tune : {false, true}) {
    const auto model = making.make("pretrained", pretrained(tiny, "none", tune));
    model->eval();
    EXPECT_TRUE(torch::allclose(model->forward(padded).data[0], rows, 0, 1e-5)) << tune;
  }
}

TEST(PretrainedVectors, AreReadFromTheCacheWhenTheyAreThere) {
  const TinyModel tiny;
  const Scratch scratch;
  const Making making;
  const std::string folder = scratch.folder().string();
  const Tensor first = making.make("pretrained", pretrained(tiny, folder))
                           ->forward(making.padded({{"a", "b"}, {"c"}, {"a", "b"}}))
                           .data;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_TRUE(files[0].filename().string().ends_with("-layer-2.features"));
  {
    FeatureCache cache(files[0], 8);
    EXPECT_TRUE(torch::equal(cache.find("a b"), first[0]));
    cache.add({{"c", torch::full({1, 8}, 7.0f)}});  // told apart from what it would compute
  }
  const Tensor second = making.make("pretrained", pretrained(tiny, folder))
                            ->forward(making.padded({{"c"}, {"b", "a"}}))
                            .data;
  EXPECT_TRUE(torch::equal(second[0][0], torch::full({8}, 7.0f)));
  // Another layer and other weights have files of their own.
  Options lower = pretrained(tiny, folder);
  lower["layer"] = std::int64_t{1};
  making.make("pretrained", lower)->forward(making.padded({{"c"}}));
  auto weights = testing::tiny_weights();
  weights[0].second = weights[0].second + 1;
  write_safetensors(tiny.folder() / "model.safetensors", weights);
  making.make("pretrained", pretrained(tiny, folder))->forward(making.padded({{"c"}}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3);
}

TEST(PretrainedVectors, AFixedSentenceHasTheSameBitsInAnyBatch) {
  const TinyModel tiny;
  const Making making;
  const auto one = making.make("pretrained", pretrained(tiny, "none"));
  const auto two = making.make("pretrained", pretrained(tiny, "none"));
  const Tensor alone = one->forward(making.padded({{"a", "c", "e"}})).data;
  const Tensor among = two->forward(making.padded({{"b"}, {"a", "c", "e"}, {"d", "d"}})).data;
  EXPECT_TRUE(torch::equal(alone[0], among[1]));
}

}  // namespace
}  // namespace heed
