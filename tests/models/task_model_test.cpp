#include "heed/models/label_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/data/safetensors.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

Config small() {
  Config config;
  config.feature = {.model = "gru", .dim = 8, .dropout = 0};
  return config;
}

DataInfo facts() {
  std::vector<std::string> words;
  for (int i = 2; i < 20; ++i) words.push_back("w" + std::to_string(i));
  return {.labels = {"negative", "positive"}, .vocabulary = Vocabulary(words)};
}

Batch batch_of(std::vector<std::int64_t> ids) {
  Batch batch{.indices = {0}};
  const auto n = static_cast<std::int64_t>(ids.size());
  batch.inputs["text"] = {.ids = torch::tensor(ids).view({1, n}), .lengths = torch::tensor({n})};
  return batch;
}

TEST(TaskModel, HasAQueryOnlyWhereOneIsAsked) {
  Config config = small();
  const LabelModel with(config, facts());
  config.attention.mechanism = "mean-pool";
  const LabelModel without(config, facts());
  EXPECT_TRUE(with.named_parameters().contains("query"));
  EXPECT_FALSE(without.named_parameters().contains("query"));
}

TEST(TaskModel, ReplacedWeightsChangeTheAnswer) {
  torch::manual_seed(1);
  LabelModel model(small(), facts());
  model.eval();
  Trace plain, replaced;
  replaced.replace("attention", torch::tensor({{1.0f, 0.0f, 0.0f}}));
  const Tensor a = model.forward(batch_of({3, 4, 5}), plain),
               b = model.forward(batch_of({3, 4, 5}), replaced);
  EXPECT_FALSE(torch::allclose(a, b));
  Trace wrong;
  wrong.replace("atention", torch::ones({1, 3}));
  EXPECT_THROW(model.forward(batch_of({3, 4, 5}), wrong), InputError);
}

std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TaskModel, ASpecialisedQueryIsAnotherInput) {
  torch::manual_seed(2);
  Config config = small();
  config.query = {"specialised", {{"input", std::string("aspect")}}};
  DataInfo info = facts();
  info.inputs.push_back({.name = "aspect"});
  LabelModel model(config, info);
  model.eval();
  EXPECT_FALSE(model.named_parameters().contains("query"));
  const auto weights = [&](std::vector<std::int64_t> aspect) {
    Batch batch = batch_of({3, 4, 5});
    batch.inputs["aspect"] = batch_of(std::move(aspect)).inputs["text"];
    Trace trace = Trace::recording();
    model.forward(batch, trace);
    return trace.map("attention").weights;
  };
  EXPECT_FALSE(torch::allclose(weights({6}), weights({7, 8}), 1e-4, 1e-4));
  Trace trace;
  EXPECT_THAT(complaint([&] { model.forward(batch_of({3}), trace); }),
              testing::HasSubstr("the batch has no input 'aspect'"));
}

TEST(TaskModel, TheQuerySelfGoesWithFeaturesThatAskEachOther) {
  Config config = small();
  config.query = "self";
  EXPECT_THAT(complaint([&] { LabelModel(config, facts()); }),
              testing::HasSubstr("in mechanism 'singular' the features do not ask each other"));
  for (const char* id : {"self-attention", "transformer", "linear", "structured.tree"}) {
    config.attention.mechanism = id;
    LabelModel model(config, facts());
    Trace trace;
    EXPECT_EQ(model.forward(batch_of({3, 4, 5}), trace).sizes().vec(),
              (std::vector<std::int64_t>{1, 2}))
        << id;
  }
  config.attention.mechanism = {"self-attention", {{"pool", std::string("none")}}};
  LabelModel model(config, facts());
  Trace trace;
  EXPECT_THAT(complaint([&] {
                model.forward(batch_of({3, 4, 5}), trace);
              }),
              testing::HasSubstr("one vector a text is needed"));
}

struct RunFolder : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("heed-run-test-" + std::to_string(getpid()));
  RunFiles files{folder};

  RunFolder() {
    fs::create_directories(folder);
    torch::manual_seed(1);
    DataInfo info = facts();
    info.vocabulary = Vocabulary(std::vector<std::string>{"good", "bad"});
    LabelModel model(small(), info);
    write_file(files.config(), to_toml(small()));
    save_info(files, info);
    write_safetensors(files.weights(), state_of(model));
  }
  ~RunFolder() override { fs::remove_all(folder); }

  std::string error() {
    try {
      load(folder);
    } catch (const InputError& e) {
      return e.what();
    }
    return "no error";
  }
};

TEST_F(RunFolder, LoadsWhatWasSaved) {
  const LoadedRun run = load(folder);
  EXPECT_EQ(run.info.labels, (std::vector<std::string>{"negative", "positive"}));
  EXPECT_EQ(run.info.vocabulary.id("bad"), 3);
  const auto saved = read_safetensors(files.weights());
  for (const auto& [name, tensor] : state_of(*run.model))
    EXPECT_TRUE(torch::equal(tensor, saved.tensors.at(name))) << name;
}

TEST_F(RunFolder, DamageIsNamed) {
  const auto saved = read_safetensors(files.weights());
  NamedTensors tensors(saved.tensors.begin(), saved.tensors.end());
  tensors.back().second = torch::full_like(tensors.back().second, NAN);
  write_safetensors(files.weights(), tensors);
  EXPECT_THAT(error(), testing::HasSubstr("NaN or infinity"));
  tensors.pop_back();
  write_safetensors(files.weights(), tensors);
  EXPECT_THAT(error(), testing::HasSubstr("is missing; the file is of another model"));
  fs::resize_file(files.weights(), fs::file_size(files.weights()) - 5);
  EXPECT_THAT(error(), testing::HasSubstr("weights.safetensors"));
  fs::remove(files.weights());
  EXPECT_THAT(error(), testing::HasSubstr("not trained yet"));
  write_file(files.vocabulary(), "{");
  EXPECT_THAT(error(), testing::HasSubstr("vocabulary.json: damaged"));
}

}  // namespace
}  // namespace heed
