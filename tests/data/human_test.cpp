#include <gtest/gtest.h>

#include "data/scratch.hpp"
#include "heed/data/dataset.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::message_of;
using testing::Scratch;
using Weights = std::vector<float>;

constexpr std::string_view kTable =
    "id\ttext\tlabel\tsplit\trationale\n"
    "a\tGood food\tx\ttrain\t10\n"
    "b\tbad food here\ty\ttrain\t\n"
    "c\tgood food\tx\ttest\t\n";

Dataset with_human(std::string_view rows, std::int64_t max_length = 0) {
  const Scratch scratch;
  return load_dataset({.data = scratch.write("d.tsv", kTable),
                       .human = scratch.write("h.jsonl", rows),
                       .max_length = max_length,
                       .val_fraction = 0});
}

TEST(HumanAttention, IsJoinedByIdAndComesBeforeARationale) {
  const Dataset data =
      with_human(R"({"id": "a", "tokens": ["good", "food"], "weights": [0.25, 0.75]})"
                 "\n\n"
                 R"({"id": "c", "weights": [3, 0]})");
  EXPECT_EQ(data.train[0].gold.at("text"), (Weights{0.25f, 0.75f}));
  EXPECT_EQ(data.test[0].gold.at("text"), (Weights{3, 0}));
  EXPECT_TRUE(data.train[1].gold.empty()) << "nobody looked at it";
}

TEST(HumanAttention, WithoutIdIsJoinedToAllEqualTexts) {
  const Dataset data = with_human(R"({"tokens": "good food", "weights": "1e-60 2"})");
  EXPECT_EQ(data.train[0].gold.at("text"), (Weights{0, 2}));
  EXPECT_EQ(data.test[0].gold.at("text"), (Weights{0, 2}));
}

TEST(HumanAttention, OfSeveralPeopleIsTheirMean) {
  const Dataset data = with_human(R"({"id": "b", "weights": [1, 0, 0]})"
                                  "\n"
                                  R"({"id": "b", "weights": [0, 0, 0.5]})"
                                  "\n"
                                  R"({"id": "b", "weights": [2, 0, 1]})");
  const Weights& gold = data.train[1].gold.at("text");
  EXPECT_FLOAT_EQ(gold[0], 1);
  EXPECT_FLOAT_EQ(gold[1], 0);
  EXPECT_FLOAT_EQ(gold[2], 0.5);
}

TEST(HumanAttention, IsCutWithItsText) {
  const Dataset data =
      with_human(R"({"id": "b", "tokens": ["bad", "food", "here"], "weights": [1, 2, 3]})", 2);
  EXPECT_EQ(data.train[1].gold.at("text"), (Weights{1, 2}));
}

TEST(HumanAttention, OfTwoTextsGoesToTheOneWithItsTokens) {
  const Scratch scratch;
  const Dataset data = load_dataset(
      {.kind = "pair",
       .data = scratch.write("d.tsv", "id\tfirst\tsecond\tlabel\tsplit\n1\ta b\tc d\tx\ttrain\n"),
       .human = scratch.write("h.jsonl", R"({"id": "1", "tokens": ["c", "d"], "weights": [0, 1]})"
                                         "\n"
                                         R"({"id": "1", "input": "first", "weights": [1, 0]})"),
       .val_fraction = 0});
  EXPECT_EQ(data.train[0].gold.at("second"), (Weights{0, 1}));
  EXPECT_EQ(data.train[0].gold.at("first"), (Weights{1, 0}));
}

TEST(HumanAttention, AnIdOfSeveralExamplesIsRefusedWhereARowNamesIt) {
  const Scratch scratch;
  DataSource source{.data = scratch.write("d.tsv",
                                          "id\ttext\tlabel\tsplit\na\tx\tp\ttrain\na\ty\tp\ttrain\n"
                                          "b\tz\tp\ttrain\n"),
                    .human = scratch.write("h.jsonl", R"({"id": "b", "weights": [1]})"),
                    .val_fraction = 0};
  EXPECT_EQ(load_dataset(source).train[2].gold.at("text"), Weights{1});
  source.human = scratch.write("h.jsonl", "\n{\"id\": \"a\", \"weights\": [1]}");
  expect_parts(message_of([&] { load_dataset(source); }),
               {"h.jsonl:2: ", "several examples", "'a'", "rename"});
}

TEST(HumanAttention, MistakesNameFileAndLine) {
  const std::pair<const char*, std::vector<std::string_view>> cases[] = {
      {R"({"id": "aa", "weights": [1, 2]})", {"no example has the id 'aa'", "did you mean 'a'"}},
      {R"({"id": "a", "weights": [1, 2, 3]})", {"3 numbers for 2 tokens"}},
      {R"({"id": "a", "tokens": ["good"], "weights": [1]})", {"1 tokens", "'a' has 2 in 'text'"}},
      {R"({"id": "a", "tokens": ["good", "meal"], "weights": [1, 2]})",
       {"token 2 is 'meal'", "'food' in example 'a'"}},
      {R"({"id": "a", "tokens": ["good", "food"], "weights": [1]})", {"1 number for 2 tokens"}},
      {R"({"tokens": ["no", "such"], "weights": [1, 2]})", {"no example has these tokens"}},
      {R"({"id": "a", "weights": [1, -2]})", {"has '-2'", "0 or more"}},
      {R"({"id": "a", "weights": [1, NaN]})", {"not JSON"}},
      {R"({"id": "a", "weights": [1, "nan"]})", {"has 'nan'"}},
      {R"({"id": "a", "weights": [1, null]})", {"type null"}},
      {R"({"id": "a", "input": "txt", "weights": [1, 2]})", {"no input 'txt'", "'text'"}},
      {R"({"id": "a", "weights": [[1, 0]]})", {"'weights'", "array inside"}},
      {R"({"id": ["a"], "weights": [1, 2]})", {"'id' is an array"}},
      {R"({"weights": [1, 2]})", {"neither an id nor tokens"}},
      {R"({"id": "a"})", {"no column 'weights'"}},
  };
  for (const auto& [row, reasons] : cases) {
    const std::string message = message_of([&] { with_human(std::string("\n") + row); });
    expect_parts(message, {"h.jsonl:2: "});
    for (const std::string_view reason : reasons) expect_parts(message, {reason});
  }
}

}  // namespace
}  // namespace heed
