#include "heed/data/vocabulary.hpp"

#include <gtest/gtest.h>

#include "data/scratch.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::message_of;

std::vector<Example> examples(std::initializer_list<std::vector<std::string>> texts) {
  std::vector<Example> result;
  for (const auto& text : texts) {
    result.emplace_back();
    result.back().inputs["text"] = text;
  }
  return result;
}

TEST(Vocabulary, OrdersByFrequencyThenAlphabetAfterTheSpecials) {
  const auto data = examples({{"b", "c", "a"}, {"c", "b", "c", "d"}});
  const auto vocabulary = Vocabulary::from_counts(count_words(data));
  ASSERT_EQ(vocabulary.size(), 6u);
  const std::vector<std::string> expected = {"<pad>", "<unk>", "c", "b", "a", "d"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(vocabulary.word(static_cast<std::int64_t>(i)), expected[i]);
  }
}

TEST(Vocabulary, NumbersWordsAndGivesTheUnknownOneForOthers) {
  const Vocabulary vocabulary({"x", "y"});
  const std::vector<std::string> tokens = {"y", "z", "x", ""};
  EXPECT_EQ(vocabulary.ids(tokens), (std::vector<std::int64_t>{3, 1, 2, 1}));
  EXPECT_EQ(Vocabulary().size(), 2u);
  EXPECT_EQ(Vocabulary().id("x"), Vocabulary::kUnknown);
}

TEST(Vocabulary, CountsAllInputsOfAnExample) {
  std::vector<Example> data(1);
  data[0].inputs = {{"left", {"a", "b"}}, {"right", {"b"}}};
  EXPECT_EQ(Vocabulary::from_counts(count_words(data)), Vocabulary({"b", "a"}));
}

TEST(Vocabulary, DropsRareWordsAndWordsOverTheLimit) {
  const std::map<std::string, std::int64_t> counts = {
      {"a", 1}, {"b", 5}, {"c", 3}, {"d", 3}, {"e", 2}};
  EXPECT_EQ(Vocabulary::from_counts(counts, {.min_count = 3}), Vocabulary({"b", "c", "d"}));
  EXPECT_EQ(Vocabulary::from_counts(counts, {.max_size = 2}), Vocabulary({"b", "c"}));
  EXPECT_EQ(Vocabulary::from_counts(counts, {.min_count = 6}), Vocabulary());
}

TEST(Vocabulary, TextNeverYieldsPaddingEvenWhenItSpellsIt) {
  const auto data = examples({{"<pad>", "<unk>", "<pad>"}});
  const auto vocabulary = Vocabulary::from_counts(count_words(data));
  EXPECT_EQ(vocabulary.id("<pad>"), 2);
  EXPECT_EQ(vocabulary.id("<unk>"), 3);
  EXPECT_EQ(Vocabulary({"x"}).id("<pad>"), Vocabulary::kUnknown);
  EXPECT_EQ(Vocabulary::from_json(vocabulary.to_json(), "v"), vocabulary);
}

TEST(Vocabulary, SurvivesJson) {
  const Vocabulary vocabulary(
      {"naïve", "\"", "\\", "日本", "tab\tin", "line\nin", std::string("nul\0in", 6), ""});
  const auto again = Vocabulary::from_json(vocabulary.to_json(), "v");
  EXPECT_EQ(again, vocabulary);
  EXPECT_EQ(again.id("日本"), 5);
  EXPECT_EQ(Vocabulary::from_json(Vocabulary().to_json(), "v"), Vocabulary());
}

TEST(Vocabulary, ADamagedFileIsAnInputErrorThatNamesIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not JSON"},
      {"[", "not JSON"},
      {"[]", "'format' and 'words'"},
      {R"({"words": []})", "'format' and 'words'"},
      {R"({"format": "other", "words": []})", "format"},
      {R"({"format": 3, "words": []})", "format"},
      {R"({"format": "heed.vocabulary.1", "words": 5})", "not a list"},
      {R"({"format": "heed.vocabulary.1", "words": ["a", 5]})", "word 3"},
      {R"({"format": "heed.vocabulary.1", "words": ["a", "b", "a"]})", "'a' is listed twice"},
      {"{\"format\": \"heed.vocabulary.1\", \"words\": [\"\xFF\"]}", "not JSON"},
  };
  for (const auto& [text, reason] : cases) {
    expect_parts(message_of([&] { Vocabulary::from_json(text, "run/vocabulary.json"); }),
                 {"run/vocabulary.json: ", reason});
  }
}

TEST(Vocabulary, AFileCutAtAnyByteIsAnInputError) {
  const std::string whole = Vocabulary({"good", "bad", "naïve"}).to_json();
  for (std::size_t size = 0; size + 2 < whole.size();
       ++size) {  // the last two bytes: "}" and a line end
    EXPECT_THROW(Vocabulary::from_json(whole.substr(0, size), "v"), InputError) << "size=" << size;
  }
}

TEST(Vocabulary, AnIdOutsideOrABrokenWordIsAnInputError) {
  const Vocabulary vocabulary({"a"});
  EXPECT_EQ(vocabulary.word(2), "a");
  EXPECT_THROW(vocabulary.word(3), InputError);
  EXPECT_THROW(vocabulary.word(-1), InputError);
  EXPECT_THROW(Vocabulary({"a", "\xC3"}), InputError);
}

}  // namespace
}  // namespace heed
