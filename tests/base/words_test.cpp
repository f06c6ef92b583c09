#include "heed/base/words.hpp"

#include <gtest/gtest.h>

namespace heed {
namespace {

const std::vector<std::string> kIds = {"dot", "scaled-dot", "general", "additive", "sparsemax"};

TEST(Nearest, FindsTypos) {
  EXPECT_EQ(nearest("aditive", kIds), "additive");
  EXPECT_EQ(nearest("addtiive", kIds), "additive");
  EXPECT_EQ(nearest("SPARSEMAX", kIds), "sparsemax");
  EXPECT_EQ(nearest("scaled", kIds), "scaled-dot");  // a word cut short
  EXPECT_EQ(nearest("genral", kIds), "general");
}

TEST(Nearest, FindsNothingForAnUnrelatedWord) {
  EXPECT_EQ(nearest("convolution", kIds), std::nullopt);
  EXPECT_EQ(nearest("", kIds), std::nullopt);
  EXPECT_EQ(nearest("x", std::vector<std::string>{}), std::nullopt);
}

TEST(Nearest, TakesNoTimeForWordsThatNobodyTyped) {
  const std::vector<std::string> long_words = {std::string(10'000'000, 'a')};
  EXPECT_EQ(nearest(std::string(10'000'000, 'b'), long_words), std::nullopt);  // else hours
  EXPECT_EQ(nearest("b", long_words), std::nullopt);
}

TEST(Suggestion, ListsTheWordsWhenNoneIsNear) {
  EXPECT_EQ(suggestion("genral", kIds), "; did you mean 'general'?");
  EXPECT_EQ(suggestion("convolution", kIds),
            "; one of dot, scaled-dot, general, additive, sparsemax");
}

TEST(Split, KeepsEmptyFieldsAndWordsDropThem) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(split_words("  a\t b\r\n c "), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(split_words(" \n").empty());
}

TEST(Utf8, AcceptsEveryLengthAndNamesTheFirstWrongByte) {
  EXPECT_EQ(invalid_utf8("aé€😀\U0010FFFF"), std::nullopt);
  EXPECT_EQ(invalid_utf8("ab\xFF"), 2u);
  EXPECT_EQ(invalid_utf8("\xC0\xAF"), 0u);          // overlong
  EXPECT_EQ(invalid_utf8("a\xE0\x80\x80"), 1u);     // overlong, three bytes
  EXPECT_EQ(invalid_utf8("\xED\xA0\x80"), 0u);      // surrogate
  EXPECT_EQ(invalid_utf8("\xF4\x90\x80\x80"), 0u);  // over U+10FFFF
  EXPECT_EQ(invalid_utf8("abc\xE2\x82"), 3u);       // cut off
}

}  // namespace
}  // namespace heed
