#include <gtest/gtest.h>

#include "data/scratch.hpp"
#include "heed/data/dataset.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::message_of;
using testing::Scratch;
using Words = std::vector<std::string>;

Dataset read(const char* name, std::string_view bytes, std::map<std::string, std::string> columns,
             const std::string& kind = "classify") {
  const Scratch scratch;
  return load_dataset({.kind = kind,
                       .data = scratch.write(name, bytes),
                       .columns = std::move(columns),
                       .val_fraction = 0});
}

TEST(Conll, ReadsColumnsByNumberBetweenSpacesOrTabs) {
  const Dataset data = read("d.conll",
                            "-DOCSTART- -X- O\n\n"
                            "# label = org\n# split = train\nEU NNP B-ORG\nrejects VBZ O\n# 5 O\n"
                            "\n\n"
                            "# label = org\r\n# split = test\r\nHe\tPRP\tO\r\nleft\tVBD\t_\r\n",
                            {{"text", "1"}, {"rationale", "3"}});
  ASSERT_EQ(data.train.size(), 1u);
  EXPECT_EQ(data.train[0].inputs.at("text"), (Words{"eu", "rejects", "#"}));
  EXPECT_EQ(data.train[0].gold.at("text"), (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(data.train[0].label, "org");
  ASSERT_EQ(data.test.size(), 1u);
  EXPECT_EQ(data.test[0].inputs.at("text"), (Words{"he", "left"}));
  EXPECT_EQ(data.test[0].gold.at("text"), (std::vector<float>{0, 0}));
}

TEST(Conll, ReadsUniversalDependenciesByName) {
  const auto word = [](const char* id, const char* form, const char* lemma) {
    return fmt::format("{}\t{}\t{}\tX\t_\t_\t0\troot\t_\t_\n", id, form, lemma);
  };
  const std::string text = "# sent_id = s1\n# polarity = good\n# split = train\n" +
                           word("1-2", "don't", "_") + word("1", "do", "do") +
                           word("2", "n't", "not") + word("2.1", "ghost", "_") +
                           word("3", "went", "go");
  const Dataset data = read(
      "d.conllu", text, {{"text", "FORM"}, {"target", "LEMMA"}, {"id", "sent_id"}}, "translate");
  ASSERT_EQ(data.train.size(), 1u);
  EXPECT_EQ(data.train[0].inputs.at("text"), (Words{"do", "n't", "went"}));
  EXPECT_EQ(data.train[0].target, (Words{"do", "not", "go"}));
  EXPECT_EQ(data.train[0].id, "s1");
}

TEST(Conll, ReadsNamesFromTheFileAndLabelsFromTheFirstWord) {
  const Dataset data = read("d.conll",
                            "# global.columns = WORD PART SENSE\nx train pos\ny train pos\n\n"
                            "# split\nz train neg\n",
                            {{"text", "WORD"}, {"label", "SENSE"}, {"split", "PART"}});
  ASSERT_EQ(data.train.size(), 2u);
  EXPECT_EQ(data.train[1].label, "neg");
  EXPECT_EQ(data.labels, (Words{"neg", "pos"}));
}

TEST(Conll, ANumberSignMayBeTheFirstWordOfASentence) {
  for (const std::string split : {" ", "\t"}) {
    const std::string row = split + "O\n";
    const Dataset data = read("d.conll",
                              "# split = train\n# one of three\n#" + row + "1" + row + "\n" +
                                  "# split = train\n# of three too\nx" + row,
                              {{"text", "1"}, {"label", "2"}});
    ASSERT_EQ(data.train.size(), 2u);
    EXPECT_EQ(data.train[0].inputs.at("text"), (Words{"#", "1"}));
  }
}

TEST(Conll, MistakesNameFileAndLine) {
  expect_parts(message_of([] {
                 read("d.conll", "a O\n\nb\n", {{"text", "1"}, {"label", "2"}});
               }),
               {"d.conll:1: ", "nothing is called 'split'", "# split = …"});
  expect_parts(message_of([] {
                 read("d.conll", "# split = train\na X\nb\n", {{"text", "1"}, {"label", "2"}});
               }),
               {"d.conll:3: ", "1 columns", "has 2"});
  expect_parts(message_of([] {
                 read("d.conll", "# split = train\na X\n", {{"text", "3"}, {"label", "2"}});
               }),
               {"d.conll:1: ", "'3' for the text"});
  expect_parts(
      message_of([] {
        read("d.conll", "# split = train\na\tX\nb\tX\n\tX\n", {{"text", "1"}, {"label", "2"}});
      }),
      {"d.conll:4: ", "1 of this word is empty"});
  expect_parts(message_of([] {
                 read("d.conll", "# split = train\n# label = x\na O\nb 1\nc ORG\n",
                      {{"text", "1"}, {"rationale", "2"}});
               }),
               {"d.conll:5: ", "'ORG'"});
  expect_parts(
      message_of([] {
        read("d.conll", "# split = train\n# split = train\na X\n", {{"text", "1"}, {"label", "2"}});
      }),
      {"d.conll:2: ", "second comment '# split", "keep one"});
  expect_parts(message_of([] { read("d.conll", " \n\n", {}); }), {"d.conll:1: ", "empty"});
}

}  // namespace
}  // namespace heed
