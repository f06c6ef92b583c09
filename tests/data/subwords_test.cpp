#include "heed/data/subwords.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "data/scratch.hpp"
#include "heed/base/random.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

using ::testing::ElementsAre;
using testing::expect_parts;
using testing::message_of;
using testing::Scratch;

std::vector<std::string> made_up_text(std::uint64_t seed, std::size_t lines = 300) {
  constexpr const char* kStems[] = {"lauf", "sing", "tanz", "groß", "klein", "haus", "katz", "bau"};
  constexpr const char* kEnds[] = {"en", "t", "er", "ung", "e", "test", "bar"};
  Random random(seed);
  std::vector<std::string> text;
  for (std::size_t i = 0; i < lines; ++i) {
    std::vector<std::string> words;
    for (std::size_t k = 3 + random.below(5); k > 0; --k) {
      words.push_back(std::string(kStems[random.below(std::size(kStems))]) +
                      kEnds[random.below(std::size(kEnds))]);
    }
    text.push_back(join(words, " "));
  }
  return text;
}

class SubwordsOfEachKind : public ::testing::TestWithParam<const char*> {
 protected:
  SubwordOptions options_{.kind = GetParam(), .size = 60};
  std::vector<std::string> text_ = made_up_text(1);
};

TEST_P(SubwordsOfEachKind, TheSameTextGivesTheSameBytesAndTheSizeAskedFor) {
  const std::string model = train_subwords(text_, options_);
  EXPECT_EQ(train_subwords(text_, options_), model);
  const Subwords subwords(model, "model");
  EXPECT_EQ(subwords.size(), 60u);
  std::set<std::string> pieces;
  for (std::int64_t id = 0; id < 60; ++id) pieces.insert(subwords.piece(id));
  EXPECT_EQ(pieces.size(), 60u);
  EXPECT_EQ(subwords.piece(Subwords::kPadding), "<pad>");
  EXPECT_EQ(subwords.piece(Subwords::kUnknown), "<unk>");
  EXPECT_EQ(subwords.piece(Subwords::kBegin), "<s>");
  EXPECT_EQ(subwords.piece(Subwords::kEnd), "</s>");
}

TEST_P(SubwordsOfEachKind, TextOfKnownCharactersSurvives) {
  const Subwords subwords(train_subwords(text_, options_), "model");
  for (const std::string& line : made_up_text(2, 50)) {
    const auto ids = subwords.encode(line);
    EXPECT_EQ(subwords.decode(ids), line);
    EXPECT_LT(ids.size(), line.size());
  }
}

TEST_P(SubwordsOfEachKind, WordsHaveTheirPiecesAloneAndInASentence) {
  const Subwords subwords(train_subwords(text_, options_), "model");
  for (const std::string& line : made_up_text(3, 50)) {
    const std::vector<std::string> words = split_words(line);
    const Pieces pieces = subwords.encode_words(words);
    EXPECT_EQ(pieces.ids, subwords.encode(line));
    ASSERT_EQ(pieces.words.size(), words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto& [begin, end] = pieces.words[i];
      ASSERT_LT(begin, end);
      EXPECT_EQ(subwords.decode(std::span(pieces.ids).subspan(begin, end - begin)), words[i]);
      for (std::size_t k = begin; k < end; ++k) {
        EXPECT_EQ(subwords.starts_word(pieces.ids[k]), k == begin) << line;
      }
    }
  }
}

TEST_P(SubwordsOfEachKind, UnknownCharactersAreTheUnknownPieceAndDoNotSpread) {
  const Subwords subwords(train_subwords(text_, options_), "model");
  const auto ids = subwords.encode("laufen 日 tanzt");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), Subwords::kUnknown), 1);
  expect_parts(subwords.decode(ids), {"laufen", "⁇", "tanzt"});
  const std::vector<std::string> words = {"laufen", "", "tanzt"};
  const Pieces pieces = subwords.encode_words(words);
  EXPECT_EQ(pieces.ids[pieces.words[1].first], Subwords::kUnknown);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SubwordsOfEachKind, ::testing::Values("bpe", "unigram"));

TEST(Subwords, AFileIsTheBytes) {
  const Scratch scratch;
  const std::string model = train_subwords(made_up_text(1), {.size = 50});
  const Subwords loaded = Subwords::load(scratch.write("m.model", model));
  EXPECT_EQ(loaded.encode("laufen"), Subwords(model, "m").encode("laufen"));
}

TEST(Subwords, CountedWordsGiveThePiecesOfTheirText) {
  std::map<std::string, int> counts;
  const std::vector<std::string> text = made_up_text(1);
  for (const std::string& line : text) {
    for (const std::string& word : split_words(line)) ++counts[word];
  }
  std::vector<std::string> counted;
  for (const auto& [word, count] : counts) counted.push_back(fmt::format("{}\t{}", word, count));
  const Subwords by_text(train_subwords(text, {.size = 70}), "text");
  const Subwords by_counts(train_subwords(counted, {.size = 70, .counted = true}), "counts");
  ASSERT_EQ(by_text.size(), by_counts.size());
  for (std::size_t i = 0; i < by_text.size(); ++i) {
    const auto id = static_cast<std::int64_t>(i);
    EXPECT_EQ(by_text.piece(id), by_counts.piece(id));
  }
}

TEST(Subwords, MistakesAreOneLine) {
  const std::vector<std::string> text = made_up_text(1);
  expect_parts(message_of([&] { train_subwords(text, {.kind = "bpp"}); }), {"'bpp'", "bpe"});
  expect_parts(message_of([&] { train_subwords(text, {.size = 8000}); }), {"8000", "300 lines"});
  expect_parts(message_of([&] { train_subwords(text, {.size = 5}); }), {"5 pieces"});
  expect_parts(message_of([&] { train_subwords({}, {}); }), {"no text"});
  const std::vector<std::string> broken = {"a", "\xFF"};
  expect_parts(message_of([&] { train_subwords(broken, {}); }), {"line 2", "UTF-8"});
  const Scratch scratch;
  const std::string path = scratch.write("m.model", "nonsense");
  expect_parts(message_of([&] { Subwords::load(path); }), {"m.model", "SentencePiece"});
  expect_parts(message_of([] { Subwords::load("no/m.model"); }), {"no/m.model"});
  const Subwords subwords(train_subwords(text, {.size = 50}), "m");
  std::string model = train_subwords(text, {.size = 50});
  model[model.find("<pad>")] = '\0';  // SentencePiece would end the process
  expect_parts(message_of([&] { Subwords(model, "m.model"); }), {"m.model", "not a sound"});
  const std::vector<std::int64_t> wrong = {50};
  expect_parts(message_of([&] { subwords.decode(wrong); }), {"50"});
  expect_parts(message_of([&] { subwords.piece(-1); }), {"-1"});
}

}  // namespace
}  // namespace heed
