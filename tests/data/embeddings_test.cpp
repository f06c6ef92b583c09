#include "heed/data/embeddings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.hpp"
#include "heed/data/safetensors.hpp"

namespace heed {
namespace {

using ::testing::ElementsAre;
using testing::expect_parts;
using testing::message_of;
using testing::Scratch;

TEST(Embeddings, EveryFormatGivesTheSame) {
  const Scratch scratch;
  const std::string text = scratch.write("v.txt", "do 1 2\nnot 3 4\n");
  const std::string json =
      scratch.write("p/v.json", R"({"dimensions":2,"vectors":{"do":[1,2,9,0],"not":[3,4,9,1]}})");
  scratch.write("p/package.json", R"({"name":"v","main":"./v.json"})");
  const auto saved = scratch.folder() / "v.safetensors";
  save_embeddings(saved, load_embeddings(text));
  for (const std::filesystem::path& path :
       {std::filesystem::path(text), std::filesystem::path(json), scratch.folder() / "p", saved}) {
    const Embeddings read = load_embeddings(path);
    EXPECT_THAT(read.words, ElementsAre("do", "not")) << path;
    EXPECT_TRUE(torch::equal(read.vectors, torch::tensor({{1.0f, 2.0f}, {3.0f, 4.0f}}))) << path;
    const Embeddings first = load_embeddings(path, {.limit = 1});
    EXPECT_THAT(first.words, ElementsAre("do")) << path;
    EXPECT_EQ(first.vectors.size(0), 1) << path;
  }
}

TEST(Embeddings, AWordWithoutAVectorHasTheMeanOfItsStandIns) {
  const EmbeddingIndex index(
      {.words = {"do", "not"}, .vectors = torch::tensor({{1.0f, 2.0f}, {3.0f, 4.0f}})});
  EXPECT_EQ(index.width(), 2);
  EXPECT_TRUE(torch::equal(index.embedding_for("not"), torch::tensor({3.0f, 4.0f})));
  EXPECT_TRUE(torch::equal(index.embedding_for("N't"), torch::tensor({3.0f, 4.0f})));
  EXPECT_TRUE(torch::equal(index.embedding_for("don't"), torch::tensor({2.0f, 3.0f})));
  EXPECT_FALSE(index.embedding_for("zzz").defined());
  const std::vector<std::string> words = {"do", "n't", "zzz", "don't"};
  const Coverage coverage = index.cover(words);
  EXPECT_EQ(coverage.words, 4u);
  EXPECT_EQ(coverage.exact, 1u);
  EXPECT_EQ(coverage.by_stand_in, 2u);
  EXPECT_THAT(coverage.missing, ElementsAre("zzz"));
}

TEST(Embeddings, WhatIsNotOursIsAnInputError) {
  const Scratch scratch;
  const auto path = scratch.folder() / "v.safetensors";
  const auto message = [&](const std::vector<std::pair<std::string, torch::Tensor>>& tensors) {
    write_safetensors(path, tensors);
    return message_of([&] { load_embeddings(path); });
  };
  const torch::Tensor vectors = torch::ones({2, 3});
  const auto letters = [](std::vector<std::int64_t> bytes) {
    return torch::tensor(bytes).to(torch::kUInt8);
  };
  expect_parts(message({{"vectors", vectors}}), {"v.safetensors", "'words'"});
  expect_parts(message({{"vectors", vectors[0]}, {"words", letters({'a', '\n'})}}), {"a matrix"});
  expect_parts(message({{"vectors", vectors}, {"words", letters({'a', '\n'})}}),
               {"1 words", "2 vectors"});
  expect_parts(message({{"vectors", vectors}, {"words", letters({'a'})}}), {"line end"});
  expect_parts(message({{"vectors", vectors}, {"words", letters({0xFF, '\n'})}}), {"UTF-8"});
  expect_parts(message({{"vectors", vectors / 0.0}, {"words", letters({'a', '\n', 'b', '\n'})}}),
               {"NaN"});
  expect_parts(message({{"vectors", torch::ones({1, 0})}, {"words", letters({'a', '\n'})}}),
               {"v.safetensors", "1×0", "heed import"});
  expect_parts(message_of([&] { load_embeddings(scratch.folder()); }), {"package.json"});
}

TEST(Embeddings, APackageWhoseMainIsAFolderIsAnInputError) {
  const Scratch scratch;
  for (const char* main : {".", "", "./", "../p", "q"}) {
    std::filesystem::create_directories(scratch.folder() / "p" / "q");
    scratch.write("p/package.json", fmt::format(R"({{"main":"{}"}})", main));
    expect_parts(message_of([&] { load_embeddings(scratch.folder() / "p"); }),
                 {"package.json:1:", fmt::format("'{}'", main), "a folder"});
  }
}

}  // namespace
}  // namespace heed
