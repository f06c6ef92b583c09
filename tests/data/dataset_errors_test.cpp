#include <gtest/gtest.h>

#include "data/scratch.hpp"
#include "heed/base/random.hpp"
#include "heed/data/dataset.hpp"
#include "heed/data/fields.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::message_of;
using testing::Scratch;

struct Wrong {
  const char* file;
  std::string bytes;
  const char* place;  // after the file's name
  std::vector<std::string_view> reason;
};

void expect_error(const Wrong& wrong, DataSource source = {}) {
  const Scratch scratch;
  source.data = scratch.write(wrong.file, wrong.bytes);
  const std::string message = message_of([&] { load_dataset(source); });
  EXPECT_TRUE(message.starts_with(source.data + wrong.place)) << message;
  for (const std::string_view part : wrong.reason) expect_parts(message, {part});
}

TEST(DataErrors, NameFileLineAndCureOfATable) {
  const Wrong cases[] = {
      {"d.tsv", "", ":1: ", {"empty"}},
      {"d.csv", "\xEF\xBB\xBF\r\n\n", ":1: ", {"empty"}},
      {"d.jsonl", "\n \n", ":1: ", {"empty"}},
      {"d.tsv", "text\tlabel\tsplit\n", ":1: ", {"only a header"}},
      {"d.csv", "text,label,split\r\n\r\n", ":1: ", {"only a header"}},
      {"d.tsv",
       "txet\tlabel\tsplit\na\tx\ttrain\n",
       ":1: ",
       {"'text'", "did you mean 'txet'", "txet, label, split"}},
      {"d.csv",
       "text,polarity,split\na,x,train\n",
       ":1: ",
       {"'label'", "text, polarity, split", "[task.columns]"}},
      {"d.tsv", "text\tlabel\na\tx\n", ":1: ", {"'split'", "text, label"}},
      {"d.tsv",
       "text\ttext\tlabel\tsplit\na\tb\tx\ttrain\n",
       ":1: ",
       {"two columns are called 'text'"}},
      {"d.tsv", "text\tlabel\tsplit\na\tx\ttrain\nb\tx\n", ":3: ", {"2 cells", "the header has 3"}},
      {"d.tsv", "text\tlabel\tsplit\n\na\tx\ttrain\t\n", ":3: ", {"4 cells", "the header has 3"}},
      {"d.csv", "text,label,split\n\"a\nb\",x,train\nc,x\n", ":4: ", {"2 cells"}},
      {"d.csv", "text,label,split\na,x,train\n\"b,x,train\n", ":3: ", {"never closed"}},
      {"d.csv", "text,label,split\n\"a\nb\"c,x,train\n", ":3: ", {"closing quote"}},
      {"d.tsv",
       "text\tlabel\tsplit\na\tx\ttrain\nab\xC3\tx\ttrain\n",
       ":3: ",
       {"byte 3", "0xC3", "UTF-8"}},
      {"d.csv", "\xFF\n", ":1: ", {"byte 1", "0xFF"}},
      {"d.jsonl", "{\"text\": \"a\"}\n{\"text\": \"\xED\xA0\x80\"}\n", ":2: ", {"byte 11"}},
      {"d.tsv",
       std::string("text\tlabel\tsplit\na\0b\tx\ttrain\n", 29),
       ":2: ",
       {"byte 2", "zero byte"}},
      {"d.csv", std::string("text,label,sp\0lit\n", 18), ":1: ", {"byte 14", "zero byte"}},
      {"d.tsv", "text\tlabel\tsplit\n \tx\ttrain\n", ":2: ", {"text is empty"}},
      {"d.tsv", "text\tlabel\tsplit\na\t \ttrain\n", ":2: ", {"label is empty"}},
      {"d.tsv",
       "text\tlabel\tsplit\na\tx\ttrain\nb\tx\ttraining\n",
       ":3: ",
       {"'training'", "train, val, test"}},
      {"d.tsv", "text\tlabel\tsplit\na\tx\ttest\n", ":1: ", {"no row has split 'train'"}},
      {"d.tsv",
       "text\tlabel\tsplit\na\tgood\ttrain\nb\tgod\tval\n",
       ":3: ",
       {"'god'", "val", "'good'"}},
      {"d.tsv",
       "text\tlabel\tsplit\nb\tz\ttest\na\tx\ttrain\nc\ty\ttrain\n",
       ":2: ",
       {"'z'", "test", "x, y"}},
      {"d.dat",
       "text\tlabel\tsplit\na\tx\ttrain\n",
       ": ",
       {".dat", ".tsv, .csv, .jsonl, .conll or .conllu"}},
  };
  for (const Wrong& wrong : cases) expect_error(wrong);
}

TEST(DataErrors, NameFileLineAndCureOfJson) {
  const Wrong cases[] = {
      {"d.jsonl",
       "{\"text\": \"a\", \"label\": \"x\", \"split\": \"train\"}\n{\"text\": \"a\",\n",
       ":2: ",
       {"not JSON"}},
      {"d.jsonl", "[1]\n", ":1: ", {"array", "object is needed"}},
      {"d.jsonl",
       "{\"txt\": \"a\", \"label\": \"x\", \"split\": \"train\"}\n",
       ":1: ",
       {"'text'", "'txt'"}},
      {"d.jsonl",
       "{\"text\": {}, \"label\": \"x\", \"split\": \"train\"}\n",
       ":1: ",
       {"'text'", "object"}},
      {"d.jsonl",
       "{\"text\": [\"a\", null], \"label\": \"x\", \"split\": \"train\"}\n",
       ":1: ",
       {"'text'", "null"}},
      {"d.jsonl",
       "{\"text\": [[\"a\"]], \"label\": \"x\", \"split\": \"train\"}\n",
       ":1: ",
       {"'text'", "array"}},
      {"d.jsonl",
       "{\"text\": null, \"label\": \"x\", \"split\": \"train\"}\n",
       ":1: ",
       {"text is empty"}},
      {"d.jsonl",
       "{\"text\": [], \"label\": \"x\", \"split\": \"train\"}\n",
       ":1: ",
       {"text is empty"}},
      {"d.jsonl",
       R"({"text": "a", "label": "x", "split": "train", "text": "b"})",
       ":1: ",
       {"'text' comes twice", "keep one"}},
      {"d.jsonl",
       R"({"text": "a", "label": "x", "split": "train", "more": {"y": 1, "y": 2}})",
       ":1: ",
       {"'y' comes twice"}},
      {"d.jsonl",
       R"({"text": "a", "label": ["neg", "pos"], "split": "train"})",
       ":1: ",
       {"'label' is an array", "one string"}},
      {"d.jsonl",
       R"({"text": "a", "label": "x", "split": ["train"]})",
       ":1: ",
       {"'split' is an array"}},
      {"d.jsonl",
       R"({"text": "a", "label": "x", "split": "train", "id": [1, 2]})",
       ":1: ",
       {"'id' is an array"}},
      {"d.jsonl",
       R"({"text": [[1, 2], [3, 4]], "label": "x", "split": "train"})",
       ":1: ",
       {"'text'", "array inside"}},
      {"d.jsonl",
       R"({"text": "a\u0000b", "label": "x", "split": "train"})",
       ":1: ",
       {"zero byte", "remove it"}},
      {"d.jsonl", std::string(100'000, '[') + "\n", ":1: ", {"not JSON"}},
      {"d.jsonl", "{\"a\": \"" + std::string(100'000, 'x') + "\n", ":1: ", {"not JSON", "…"}},
  };
  for (const Wrong& wrong : cases) expect_error(wrong);
}

TEST(DataErrors, NameFileLineAndCureOfARationale) {
  const std::pair<const char*, const char*> cases[] = {{"0 1", "2 numbers for 3 tokens"},
                                                       {"0 1 0 0", "4 numbers"},
                                                       {"01", "1 number for 3 tokens"},
                                                       {"0 1 x", "'x'"},
                                                       {"0 nan 1", "'nan'"},
                                                       {"inf 0 0", "'inf'"},
                                                       {"0 -1 0", "'-1'"},
                                                       {"0 1 1e999", "'1e999'"},
                                                       {"0 1 0.5x", "'0.5x'"}};
  for (const auto& [rationale, reason] : cases) {
    expect_error(
        {"d.tsv",
         std::string("text\tlabel\tsplit\trationale\na b c\tx\ttrain\t") + rationale + "\n",
         ":2: ",
         {"rationale", reason}});
  }
  expect_error({"d.jsonl",
                R"({"text": "a b", "label": "x", "split": "train", "rationale": [1, 0, 1]})",
                ":1: ",
                {"3 numbers for 2 tokens"}});
}

TEST(DataErrors, AColumnTheUserNamedMustExist) {
  const std::string rows = "text\tlabel\tsplit\na\tx\ttrain\n";
  expect_error({"d.tsv", rows, ":1: ", {"'evidence'", "rationale"}},
               {.columns = {{"rationale", "evidence"}}});
  expect_error({"d.tsv", rows, ":1: ", {"'texts'", "did you mean 'text'"}},
               {.columns = {{"text", "texts"}}});
  const Scratch scratch;
  const std::string file = scratch.write("d.tsv", rows);
  expect_parts(message_of([&] {
                 load_dataset({.data = file, .columns = {{"txt", "text"}}});
               }),
               {"task.columns", "'txt'", "did you mean 'text'"});
}

TEST(DataErrors, AMissingFileIsNamedWithThePlacesLookedAt) {
  expect_parts(message_of([] { load_dataset({.data = "no/such.tsv", .base = "configs"}); }),
               {"no/such.tsv: no such file", "'configs'"});
  expect_parts(message_of([] { load_dataset({.data = "/no/such.tsv", .base = "configs"}); }),
               {"/no/such.tsv: no such file"});
  const Scratch scratch;
  const std::string train = scratch.write("t.tsv", "text\tlabel\na\tx\n");
  expect_parts(message_of([&] { load_dataset({.train = train, .test = "gone.csv"}); }),
               {"gone.csv: no such file"});
  std::filesystem::create_directory(scratch.folder() / "folder.tsv");
  expect_parts(
      message_of([&] { load_dataset({.data = (scratch.folder() / "folder.tsv").string()}); }),
      {"folder.tsv", "folder"});
}

TEST(DataErrors, ALabelOfASeparateTestFileNamesThatFile) {
  const Scratch scratch;
  const std::string train = scratch.write("train.tsv", "text\tlabel\na\tx\n");
  const std::string test = scratch.write("test.tsv", "text\tlabel\na\tx\nb\tw\n");
  expect_parts(message_of([&] { load_dataset({.train = train, .test = test}); }),
               {test + ":3: ", "'w'"});
}

TEST(DataErrors, AFileOfAPartMayNotHoldRowsOfAnother) {
  const Scratch scratch;
  const std::string all = scratch.write(
      "all.tsv", "text\tlabel\tsplit\na\tx\tTrain\nb\tx\t\nc\tx\tfold3\nd\tx\tdev\ne\tx\ttest\n");
  expect_parts(message_of([&] { load_dataset({.train = all}); }),
               {all + ":5: ", "'dev'", "'train'", "'data'"});
  expect_parts(message_of([&] { load_dataset({.train = all, .val = all, .test = all}); }),
               {all + ":5: ", "'data'"});
  const std::string train = scratch.write("t.tsv", "text\tlabel\tsplit\na\tx\ttrain\n"),
                    val = scratch.write("v.tsv", "text\tlabel\tsplit\na\tx\tdev\n");
  EXPECT_EQ(load_dataset({.train = train, .val = val}).val.size(), 1u);
  expect_parts(message_of([&] { load_dataset({.train = train, .test = val}); }),
               {val + ":2: ", "'dev'", "'test'"});
}

TEST(DataErrors, AContradictorySourceIsExplained) {
  expect_parts(message_of([] { load_dataset({}); }), {"no data is named", "'data'", "'train'"});
  expect_parts(message_of([] { load_dataset({.data = "a.tsv", .train = "b.tsv"}); }),
               {"both 'data' and 'train'"});
  expect_parts(message_of([] { load_dataset({.data = "a.tsv", .test = "b.tsv"}); }),
               {"'test' go with 'train'"});
  expect_parts(message_of([] { load_dataset({.data = "builtin:reviews", .max_length = -1}); }),
               {"max_length", "-1"});
  for (const double fraction : {-0.1, 1.0, std::nan("")}) {
    expect_parts(message_of([&] { load_dataset({.train = "a.tsv", .val_fraction = fraction}); }),
                 {"val_fraction"});
  }
}

TEST(DataErrors, AWrongBuiltinCorpusOrOptionIsExplained) {
  const std::pair<const char*, const char*> cases[] = {
      {"builtin:review", "did you mean 'reviews'"},
      {"builtin:", "no built-in corpus"},
      {"builtin:reviews?sise=5", "did you mean 'size'"},
      {"builtin:reviews?size=", "not a whole number"},
      {"builtin:reviews?size=-5", "'-5'"},
      {"builtin:reviews?size=5x", "'5x'"},
      {"builtin:reviews?size=0", "size is 0"},
      {"builtin:reviews?size=1000001", "1000000"},
      {"builtin:reviews?seed", "not a whole number"}};
  for (const auto& [data, reason] : cases) {
    expect_parts(message_of([&] { load_dataset({.data = data}); }), {data, reason});
  }
}

// Whatever the bytes: examples that hold together, or an InputError with file and line.
void expect_sound(const Scratch& scratch, const char* name, const std::string& bytes) {
  const std::string file = scratch.write(name, bytes);
  try {
    for (const Example& example : load_dataset({.data = file}).train) {
      EXPECT_FALSE(example.inputs.at("text").empty());
      for (const auto& [input, gold] : example.gold)
        EXPECT_EQ(gold.size(), example.inputs.at(input).size());
    }
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with(file + ":")) << error.what();
  }
}

TEST(DataErrors, AnyCutOrChangedByteLoadsOrIsAnInputError) {
  const Scratch scratch;
  const std::pair<const char*, std::string> files[] = {
      {"d.tsv", "text\tlabel\tsplit\trationale\ngood \xC3\xA9\tx\ttrain\t1 0\r\nbad\ty\tval\t1\n"},
      {"d.csv",
       "text,label,split,rationale\n\"good \"\"\xC3\xA9\",x,train,1 0\r\nbad,\"y\",val,\"1\"\n"},
      {"d.jsonl",
       R"({"text": ["good", "\u00e9"], "label": "x", "split": "train", "rationale": [1, 0.5]})"
       "\n"},
      {"d.conll",
       "# global.columns = ID text rationale label\n# split = train\n1 good B-X x\n1-2 \xC3\xA9 O "
       "x\n2 "
       "\xC3\xA9 0.5 x\r\n\n# split = val\n1\tbad\t_\tx\n"}};
  Random random(5);
  for (const auto& [name, bytes] : files) {
    for (std::size_t size = 0; size <= bytes.size(); ++size)
      expect_sound(scratch, name, bytes.substr(0, size));
    for (int i = 0; i < 1000; ++i) {
      std::string changed = bytes;
      for (std::size_t k = 1 + random.below(3); k > 0; --k) {
        changed[random.below(changed.size())] = random.chance(0.5)
                                                    ? "\",\n\r\t{}[]: 01"[random.below(14)]
                                                    : static_cast<char>(random.below(256));
      }
      expect_sound(scratch, name, changed);
    }
  }
}

}  // namespace
}  // namespace heed
