#include "heed/data/wordpiece.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.hpp"
#include "heed/base/words.hpp"
#include "heed/data/unicode.hpp"

namespace heed {
namespace {

using ::testing::ElementsAre;
using testing::expect_parts;
using testing::message_of;
using testing::Scratch;

/// Specials, letters and digits alone and continuing, punctuation, and some longer pieces.
std::vector<std::string> small_vocabulary() {
  std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (const char c : letters) pieces.emplace_back(1, c);
  for (const char c : letters) pieces.push_back(std::string("##") + c);
  for (const char c : std::string("!\"#$%&'()*+,-./:;<=>?@[]_`{|}~")) pieces.emplace_back(1, c);
  for (const char* piece :
       {"un",  "##aff", "##able", "want", "##ed", "run", "##ning", "cafe", "##es", "ß", "##ß", "ø",
        "##ø", "æ",     "##æ",    "日",   "本",   "語",  "α",      "##ς",  "##λ",  "д", "##а", "¿",
        "–",   "—",     "…",      "“",    "”",    "«",   "»",      "€",    "##€",  "½", "the"}) {
    pieces.emplace_back(piece);
  }
  return pieces;
}

class WordPieceTest : public ::testing::Test {
 protected:
  std::string cut(const std::string& word) const {
    std::vector<std::string> names;
    const std::vector<std::string> words = {word};
    for (const std::int64_t id : tokeniser_.pieces(words).ids) {
      names.push_back(names_[static_cast<std::size_t>(id)]);
    }
    return join(names, " ");
  }

  Scratch scratch_;
  std::vector<std::string> names_ = small_vocabulary();
  WordPiece tokeniser_{scratch_.write("vocab.txt", join(names_, "\n") + "\n")};
};

// Pieces computed with Hugging Face's tokenizers 0.23.3 (BertWordPieceTokenizer, lower case) over
// this vocabulary; where it gives none, we give [UNK], so that every word has a vector.
TEST_F(WordPieceTest, CutsAsThePublishedTokeniserDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"unaffable", "un ##aff ##able"},
      {"UNwanted", "un ##w ##a ##n ##t ##ed"},
      {"running!", "run ##ning !"},
      {"cafés", "cafe ##s"},
      {"Cafés", "cafe ##s"},
      {"CAFE\314\201S", "cafe ##s"},
      {"naïve", "n ##a ##i ##v ##e"},
      {"Straße", "s ##t ##r ##a ##ß ##e"},
      {"Øre", "ø ##r ##e"},
      {"Ærø", "æ ##r ##ø"},
      {"日本語", "日 本 語"},
      {"a日b", "a 日 b"},
      {"αλς", "α ##λ ##ς"},
      {"Αλς", "α ##λ ##ς"},
      {"да", "д ##а"},
      {"Да", "д ##а"},
      {"don't", "d ##o ##n ' t"},
      {"...", ". . ."},
      {"a\342\200\213b", "a ##b"},
      {"a\302\255b", "a ##b"},
      {"\007", "[UNK]"},
      {"don’t", "d ##o ##n [UNK] t"},
      {"“want”", "“ want ”"},
      {"«un»", "« un »"},
      {"¿the?", "¿ the ?"},
      {"–", "–"},
      {"—", "—"},
      {"…", "…"},
      {"€", "€"},
      {"5€", "5 ##€"},
      {"½", "½"},
      {"##aff", "# # a ##f ##f"},
      {"Ǆ", "[UNK]"},
      {"İstanbul", "i ##s ##t ##a ##n ##b ##u ##l"},
      {"ĳ", "[UNK]"},
      {"ŉ", "[UNK]"},
      {"ſ", "[UNK]"},
      {"Ǻ", "a"},
      {"ậ", "a"},
      {"Ậ", "a"},
      {"Ṩ", "s"},
      {"ﬁ", "[UNK]"},
      {"Ёж", "[UNK]"},
      {"й", "[UNK]"},
      {"Ώ", "[UNK]"},
      {"ώ", "[UNK]"},
      {"\302\240", "[UNK]"},
      {"a\302\240b", "a b"},
      {"\357\273\277the", "the"},
      {"the\357\277\275", "the"},
      {"e\314\201", "e"},
      {"_", "_"},
      {"^", "[UNK]"},
      {"a^b", "a [UNK] b"},
      {"=", "="},
      {"a_b", "a _ b"},
      {"$5.00", "$ 5 . 0 ##0"},
      {"🙂", "[UNK]"},
      {"a🙂", "[UNK]"},
      {"१", "[UNK]"},
      {"the\343\200\200the", "the the"},
      {"《the》", "[UNK] the [UNK]"},
      {"the、", "the [UNK]"},
      {"100%", "1 ##0 ##0 %"},
      {"Çé", "c ##e"},
      {"ñ", "n"},
      {"Ñandú", "n ##a ##n ##d ##u"},
      {"Łódź", "[UNK]"},
      {"đ", "[UNK]"},
      {"Đ", "[UNK]"},
      {"ﾞ", "[UNK]"},
      {"\342\200\256the", "the"}};
  for (const auto& [word, pieces] : cases) EXPECT_EQ(cut(word), pieces) << word;
}

TEST_F(WordPieceTest, OverAHundredCharactersIsUnknown) {
  const std::vector<std::string> words = {std::string(100, 'x'), std::string(101, 'x'),
                                          std::string(99, 'x') + "!"};
  const Pieces pieces = tokeniser_.pieces(words);
  EXPECT_EQ(pieces.words[0].second - pieces.words[0].first, 100u);
  EXPECT_EQ(cut(words[1]), "[UNK]");
  EXPECT_EQ(pieces.words[2].second - pieces.words[2].first, 100u);
}

TEST_F(WordPieceTest, TextThatLooksLikeASpecialIsText) { EXPECT_EQ(cut("[SEP]"), "[ s ##e ##p ]"); }

TEST_F(WordPieceTest, EveryWordHasItsPlace) {
  const std::vector<std::string> words = {"running", "!", "\a", "unaffable"};
  const Pieces pieces = tokeniser_.pieces(words);
  using Place = std::pair<std::size_t, std::size_t>;
  EXPECT_THAT(pieces.words, ElementsAre(Place{0, 2}, Place{2, 3}, Place{3, 4}, Place{4, 7}));
  EXPECT_EQ(pieces.ids.size(), 7u);
}

TEST_F(WordPieceTest, RunsHoldAllWordsInOrderAndNoneIsTooLong) {
  std::vector<std::string> words;
  for (int i = 0; i < 40; ++i)
    words.push_back(i % 3 == 0 ? "unaffable" : i % 3 == 1 ? "the" : "a-b");
  const Pieces whole = tokeniser_.pieces(words);
  for (const std::size_t limit : {5u, 6u, 17u, 500u}) {
    std::size_t word = 0;
    for (const Pieces& run : tokeniser_.runs(words, limit)) {
      EXPECT_LE(run.ids.size(), limit);
      EXPECT_EQ(run.ids.front(), tokeniser_.start());
      EXPECT_EQ(run.ids.back(), tokeniser_.end());
      std::size_t next = 1;
      for (const auto& [begin, end] : run.words) {
        EXPECT_EQ(begin, next);
        const auto& [from, to] = whole.words[word++];
        EXPECT_TRUE(std::equal(run.ids.begin() + static_cast<std::ptrdiff_t>(begin),
                               run.ids.begin() + static_cast<std::ptrdiff_t>(end),
                               whole.ids.begin() + static_cast<std::ptrdiff_t>(from),
                               whole.ids.begin() + static_cast<std::ptrdiff_t>(to)))
            << "limit " << limit << ", word " << word;
        next = end;
      }
      EXPECT_EQ(next + 1, run.ids.size());
    }
    EXPECT_EQ(word, words.size());
  }
}

TEST_F(WordPieceTest, AWordLongerThanARunLosesItsEnd) {
  const std::vector<std::string> words = {"the", "unaffable", "the"};
  const auto runs = tokeniser_.runs(words, 4);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[1].ids.size(), 4u);
  expect_parts(message_of([&] { tokeniser_.runs(words, 2); }), {"2 pieces", "3"});
}

TEST_F(WordPieceTest, AByteOrderMarkIsNoPartOfTheFirstPiece) {
  const std::string pieces = "the\n[UNK]\n[CLS]\n[SEP]\n";
  const WordPiece tokeniser(scratch_.write("marked.txt", "\xEF\xBB\xBF" + pieces));
  const std::vector<std::string> words = {"the"};
  EXPECT_THAT(tokeniser.pieces(words).ids, ElementsAre(0));
}

TEST_F(WordPieceTest, NoWordsAreNoRuns) { EXPECT_TRUE(tokeniser_.runs({}, 8).empty()); }

TEST(WordPieceFile, MistakesNameFileAndLine) {
  const Scratch scratch;
  const auto load = [&](std::string_view text) {
    const std::string path = scratch.write("vocab.txt", text);
    return message_of([&] { WordPiece{path}; });
  };
  expect_parts(load(""), {"vocab.txt:1:", "empty"});
  expect_parts(load("[UNK]\n[CLS]\n[UNK]\n"), {"vocab.txt:3:", "'[UNK]'"});
  expect_parts(load("[UNK]\n\n"), {"vocab.txt:2:"});
  expect_parts(load("[UNK]\n\xFF\n"), {"vocab.txt:2:", "UTF-8"});
  expect_parts(load("[UNK]\n[CLS]\n"), {"vocab.txt:", "[SEP]"});
  expect_parts(message_of([] { WordPiece("no/vocab.txt"); }), {"no/vocab.txt"});
}

TEST(Characters, AreCodePoints) {
  EXPECT_THAT(characters("naïve"), ElementsAre("n", "a", "ï", "v", "e"));
  EXPECT_THAT(characters("日🙂"), ElementsAre("日", "🙂"));
  EXPECT_TRUE(characters("").empty());
  expect_parts(message_of([] { characters("a\xFF"); }), {"UTF-8"});
}

TEST(Characters, EveryCodePointSurvives) {
  for (char32_t point = 1; point < 0x110000; point += point < 0x3000 ? 1 : 97) {
    if (point >= 0xD800 && point < 0xE000) continue;
    std::string text;
    unicode::append_utf8(text, point);
    ASSERT_FALSE(invalid_utf8(text)) << static_cast<unsigned>(point);
    ASSERT_EQ(unicode::code_points(text), std::u32string(1, point));
  }
}

}  // namespace
}  // namespace heed
