// The kinds of task whose examples are rows or stories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <set>

#include "data/scratch.hpp"
#include "heed/data/dataset.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::message_of;
using testing::Scratch;
using Words = std::vector<std::string>;

DataSource source_of(std::string kind, std::string data) {
  DataSource source;
  source.kind = std::move(kind);
  source.data = std::move(data);
  source.val_fraction = 0;
  return source;
}

Words cut(const Example& example, const std::string& name) {
  const View& view = example.views.at(name);
  const Words& words = example.inputs.at(view.of);
  return {words.begin() + static_cast<std::ptrdiff_t>(view.begin),
          words.begin() + static_cast<std::ptrdiff_t>(view.end)};
}

TEST(DataKinds, AnAspectIsOneTextWithThreeStretches) {
  const Scratch scratch;
  DataSource source = source_of("aspect", scratch.write("a.tsv",
                                                        "left\ttarget\tright\tlabel\tsplit\n"
                                                        "The nice\tSoup\twas cold .\tneg\ttrain\n"
                                                        "\tsoup\t\tpos\ttrain\n"));
  const Dataset data = load_dataset(source);
  EXPECT_EQ(data.train[0].inputs.at("text"), (Words{"the", "nice", "soup", "was", "cold", "."}));
  EXPECT_EQ(cut(data.train[0], "left"), (Words{"the", "nice"}));
  EXPECT_EQ(cut(data.train[0], "target"), (Words{"soup"}));
  EXPECT_EQ(cut(data.train[0], "right"), (Words{"was", "cold", "."}));
  EXPECT_TRUE(cut(data.train[1], "left").empty());
  source.max_length = 3;  // what is near the target stays
  EXPECT_EQ(load_dataset(source).train[0].inputs.at("text"), (Words{"nice", "soup", "was"}));
}

TEST(DataKinds, ADocumentKnowsItsSentences) {
  const Scratch scratch;
  const auto levels = [&](const std::string& name, const std::string& bytes, int max = 0) {
    DataSource source = source_of("document", scratch.write(name, bytes));
    source.max_length = max;
    return load_dataset(source).train[0].levels.at("text")[0];
  };
  const std::string array =
      R"({"text": ["a b .", "c d e"], "label": "x", "split": "train", "rationale": "010001"})";
  EXPECT_EQ(levels("d.jsonl", array + "\n"), (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(levels("d.jsonl", array + "\n", 4), (std::vector<std::int64_t>{3, 1}));
  const std::string text = "text\tlabel\tsplit\na b . c ! d e\tx\ttrain\n";
  EXPECT_EQ(levels("d.tsv", text), (std::vector<std::int64_t>{3, 2, 2}));
}

TEST(DataKinds, APairHasTwoTexts) {
  const Scratch scratch;
  DataSource source = source_of("pair", scratch.write("p.csv",
                                                      "premise,second,label,split\n"
                                                      "a b,c,yes,train\n"));
  source.columns = {{"first", "premise"}};
  const Dataset data = load_dataset(source);
  EXPECT_EQ(data.train[0].inputs.at("first"), (Words{"a", "b"}));
  EXPECT_EQ(data.train[0].inputs.at("second"), (Words{"c"}));
  source.columns["text"] = "a";
  expect_parts(message_of([&] { load_dataset(source); }), {"unknown column 'text' of kind 'pair'"});
}

const char* const kStory =
    "1 Mary moved to the hall.\n"
    "2 John went to the garden.\n"
    "3 Where is Mary? \thall\t1\n"
    "4 Mary went to the attic.\n"
    "5 Where is Mary? \tattic\t4\n"
    "1 John is here.\n"
    "2 Where is John?\there\t1\n";

TEST(Babi, QuestionsSeeTheStoryBeforeThem) {
  const Scratch scratch;
  DataSource source = source_of("answer", "");
  source.train = scratch.write("qa_train.txt", kStory);
  const Dataset data = load_dataset(source);
  ASSERT_EQ(data.train.size(), 3u);
  EXPECT_EQ(data.train[1].levels.at("story")[0], (std::vector<std::int64_t>{5, 5, 5}));
  EXPECT_EQ(data.train[1].inputs.at("question"), (Words{"where", "is", "mary"}));
  EXPECT_EQ(data.train[1].label, "attic");
  const std::vector<float> gold(data.train[1].gold.at("story"));
  EXPECT_EQ(std::vector<float>(gold.begin() + 10, gold.end()), std::vector<float>(5, 1.0f));
  EXPECT_EQ(std::count(gold.begin(), gold.end(), 1.0f), 5);
  EXPECT_EQ(data.train[2].levels.at("story")[0].size(), 1u);
  source.max_length = 11;  // the last sentences that fit
  EXPECT_EQ(load_dataset(source).train[1].levels.at("story")[0].size(), 2u);
  source.max_length = 3;  // the end of the last one
  const Example cut = load_dataset(source).train[1];
  EXPECT_EQ(cut.inputs.at("story"), (Words{"to", "the", "attic"}));
  EXPECT_EQ(cut.levels.at("story")[0], std::vector<std::int64_t>{3});
  EXPECT_EQ(cut.gold.at("story"), (std::vector<float>(3, 1.0f)));
}

TEST(Babi, AByteOrderMarkAndCrlfArePassedOver) {
  const Scratch scratch;
  DataSource source = source_of("answer", "");
  source.train = scratch.write("s.txt",
                               "\xEF\xBB\xBF"
                               "1 Mary is here.\r\n2 Where?\there\r\n\r\n");
  const Dataset data = load_dataset(source);
  EXPECT_EQ(data.train.at(0).inputs.at("story"), (Words{"mary", "is", "here"}));
  EXPECT_EQ(data.train[0].label, "here");
}

TEST(Babi, MistakesNameTheLine) {
  const Scratch scratch;
  const auto message = [&](const std::string& bytes) {
    DataSource source = source_of("answer", "");
    source.train = scratch.write("s.txt", bytes);
    return message_of([&] { load_dataset(source); });
  };
  expect_parts(message("1 a b\n"), {"s.txt:1", "no question"});
  expect_parts(message("1 a b\nx c\n"), {"s.txt:2", "'x'", "number of a line"});
  expect_parts(message("1 a b\n2 where?\t\t1\n"), {"s.txt:2", "no answer"});
  expect_parts(message("1 a b\n2 where?\thall\t7\n"), {"s.txt:2", "line 7", "no such sentence"});
  expect_parts(message("1 where?\thall\t1\n"), {"s.txt:1", "without a story"});
  for (const char* open : {"2 where is a? \n", "2 where is a? \t\n", "2 where is a? hall 1\n",
                           "2 where is a?\t\r\n"}) {
    expect_parts(message(std::string("1 a b\n") + open), {"s.txt:2", "no answer", "behind a tab"});
  }
  const std::string asked = "1 a\n2 b\n3 where?\tb\t2\n";
  for (const auto& [wrong, place] : {std::pair{"1 a\n3 b\n2 c\n", "s.txt:2: line 3 "},
                                     {"1 a\n1 b\n3 c\n", "s.txt:3: line 3 "},
                                     {"5 a\n6 where?\ta\t5\n", "s.txt:1: line 5 "}}) {
    expect_parts(message(wrong), {place, "comes next", "1, 2, 3"});
  }
  for (const char* next : {"3 c\n", "2 c\n", "8 c\n", "9 where?\tb\t2\n"})
    expect_parts(message(asked + next), {"s.txt:4: ", "where 4 comes next"});
  expect_parts(message("1 a \xFF\n"), {"s.txt:1", "UTF-8"});
  expect_parts(message(std::string("1 a\n2 b\0\n", 9)), {"s.txt:2: byte 4", "zero byte"});
  DataSource one = source_of("answer", scratch.write("s.txt", kStory));
  expect_parts(message_of([&] { load_dataset(one); }), {"s.txt:1", "no split column"});
}

TEST(HoldOut, NeverPartsAStory) {
  const Scratch scratch;
  std::string bytes;
  for (int i = 0; i < 40; ++i) bytes += kStory;
  DataSource source = source_of("answer", "");
  source.train = scratch.write("s.txt", bytes);
  source.val_fraction = 0.25;
  const Dataset data = load_dataset(source);
  EXPECT_GT(data.val.size(), 15u);
  std::set<std::string> learned;
  for (const Example& example : data.train) learned.insert(example.group);
  for (const Example& example : data.val) EXPECT_FALSE(learned.contains(example.group));
}

std::string gzipped(const std::string& bytes) {
  std::string packed(compressBound(bytes.size()) + 64, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());  // NOLINT
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST(Gzip, IsReadWhateverItHolds) {
  const Scratch scratch;
  const std::string table = "text\tlabel\tsplit\na b\tx\ttrain\n", packed = gzipped(table);
  const auto read = [&](const std::string& name, const std::string& bytes) {
    return load_dataset(source_of("classify", scratch.write(name, bytes))).train.size();
  };
  EXPECT_EQ(read("d.tsv.gz", packed), 1u);
  EXPECT_EQ(read("d.tsv", packed), 1u);  // the bytes tell, not the name
  EXPECT_EQ(read("d.tsv.gz", gzipped(table) + gzipped("c\ty\ttrain\n")), 2u);
  expect_parts(message_of([&] { read("d.tsv.gz", packed.substr(0, packed.size() - 9)); }),
               {"d.tsv.gz", "ends too early"});
  std::string wrong = packed;
  wrong[wrong.size() / 2] = static_cast<char>(wrong[wrong.size() / 2] ^ 0x55);
  expect_parts(message_of([&] { read("d.tsv.gz", wrong); }), {"d.tsv.gz", "damaged gzip"});
}

TEST(BuiltinCorpora, AreTheSameEverywhereAndHaveGoldAttention) {
  for (const auto& [kind, data] :
       std::vector<std::pair<std::string, std::string>>{{"aspect", "builtin:reviews"},
                                                        {"document", "builtin:reviews"},
                                                        {"pair", "builtin:statements"},
                                                        {"answer", "builtin:stories"}}) {
    const Dataset once = load_dataset(source_of(kind, data + "?size=80")),
                  again = load_dataset(source_of(kind, data + "?size=160"));
    EXPECT_EQ(once.train.size(), 80u) << kind;
    EXPECT_EQ(once.test.front().inputs, again.test.front().inputs) << kind;
    EXPECT_NE(once.test.front().inputs,
              load_dataset(source_of(kind, data + "?size=80&seed=2")).test.front().inputs);
    std::set<std::string> labels;
    std::size_t marked = 0;
    for (const Example& example : again.train) {
      labels.insert(example.label);
      for (const auto& [name, gold] : example.gold) {
        EXPECT_EQ(gold.size(), input_length(example, name)) << example.id;
        marked += std::count(gold.begin(), gold.end(), 1.0f) > 0;
      }
      for (const auto& [name, levels] : example.levels) {
        std::int64_t words = 0;
        for (const std::int64_t size : levels[0]) words += size;
        EXPECT_EQ(words, static_cast<std::int64_t>(input_length(example, name)));
      }
    }
    EXPECT_EQ(Words(labels.begin(), labels.end()), again.labels) << kind;
    EXPECT_GT(marked, 90u) << kind;  // a third of the statements is left open
  }
  expect_parts(message_of([] { load_dataset(source_of("pair", "builtin:reviews")); }),
               {"for kind classify, aspect, document", "kind 'pair'"});
  expect_parts(message_of([] { load_dataset(source_of("par", "builtin:reviews")); }),
               {"unknown kind of task 'par'", "did you mean 'pair'"});
}

}  // namespace
}  // namespace heed
