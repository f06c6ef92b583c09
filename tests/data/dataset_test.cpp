#include "heed/data/dataset.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "data/scratch.hpp"
#include "heed/base/random.hpp"
#include "heed/base/words.hpp"
#include "source_dir.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;
using testing::Scratch;
using Tokens = std::vector<std::string>;
using Weights = std::vector<float>;

const Tokens& text(const Example& example) { return example.inputs.at("text"); }

TEST(LoadDataset, ReadsTheThreeFormatsAlike) {
  const Scratch scratch;
  const std::string tsv = scratch.write("d.tsv",
                                        "id\tlabel\tsplit\ttext\trationale\n"
                                        "a\tpos\ttrain\tA good  film\t0 1 0\n"
                                        "b\tneg\ttrain\tsay \"no\" , twice\t\n"
                                        "c\tneg\tdev\tbad\t0.5\n"
                                        "d\tpos\ttest\tgood good\t11\n");
  const std::string csv = scratch.write("d.csv",
                                        "id,label,split,text,rationale\n"
                                        "a,pos,train,A good  film,0 1 0\n"
                                        "b,neg,train,\"say \"\"no\"\" ,\r\ntwice\",\n"
                                        "c,neg,valid,\"bad\",0.5\n"
                                        "d,pos,test,good good,11");
  const std::string jsonl = scratch.write(
      "d.jsonl",
      R"({"id": "a", "label": "pos", "split": "train", "text": ["A", "good", "film"], "rationale": [0, 1, 0]})"
      "\n"
      R"({"id": "b", "label": "neg", "split": "train", "text": "say \"no\" , twice", "other": {}})"
      "\n\n"
      R"({"id": "c", "label": "neg", "split": "validation", "text": "bad", "rationale": 0.5})"
      "\n"
      R"({"id": "d", "label": "pos", "split": "test", "text": ["good good"], "rationale": "11"})"
      "\n");
  for (const std::string& file : {tsv, csv, jsonl}) {
    SCOPED_TRACE(file);
    const Dataset data = load_dataset({.data = file});
    EXPECT_EQ(data.name, "d");
    EXPECT_EQ(data.labels, (Tokens{"neg", "pos"}));
    ASSERT_EQ(data.train.size(), 2u);
    ASSERT_EQ(data.val.size(), 1u);
    ASSERT_EQ(data.test.size(), 1u);
    EXPECT_EQ(data.train[0].id, "a");
    EXPECT_EQ(data.train[0].label, "pos");
    EXPECT_EQ(text(data.train[0]), (Tokens{"a", "good", "film"}));
    EXPECT_EQ(data.train[0].gold.at("text"), (Weights{0, 1, 0}));
    EXPECT_EQ(text(data.train[1]), (Tokens{"say", "\"no\"", ",", "twice"}));
    EXPECT_TRUE(data.train[1].gold.empty());
    EXPECT_EQ(data.val[0].gold.at("text"), (Weights{0.5f}));
    EXPECT_EQ(data.test[0].gold.at("text"), (Weights{1, 1}));
  }
}

TEST(LoadDataset, AcceptsCrlfAByteOrderMarkAndAMissingLastLineEnd) {
  const Scratch scratch;
  for (const char* name : {"d.tsv", "d.csv"}) {
    const std::string separator = name == std::string("d.tsv") ? "\t" : ",";
    const std::string file =
        scratch.write(name, "\xEF\xBB\xBFtext" + separator + "label" + separator + "split\r\n" +
                                "a b" + separator + "x" + separator + "train\r\n\r\n" + "c" +
                                separator + "y" + separator + "train");
    const Dataset data = load_dataset({.data = file, .val_fraction = 0});
    ASSERT_EQ(data.train.size(), 2u) << name;
    EXPECT_EQ(text(data.train[0]), (Tokens{"a", "b"}));
    EXPECT_EQ(data.train[1].id, "train-2");
    EXPECT_EQ(data.labels, (Tokens{"x", "y"}));
  }
}

TEST(LoadDataset, TakesColumnNamesFromTheCaller) {
  const Scratch scratch;
  const std::string file =
      scratch.write("d.tsv", "sentence\tpolarity\tpart\twhy\tkey\nAb Cd\t1\ttrain\t0 2.5\tk7\n");
  const Dataset data = load_dataset({.data = file,
                                     .columns = {{"text", "sentence"},
                                                 {"label", "polarity"},
                                                 {"split", "part"},
                                                 {"rationale", "why"},
                                                 {"id", "key"}},
                                     .lowercase = false});
  ASSERT_EQ(data.train.size(), 1u);
  EXPECT_EQ(text(data.train[0]), (Tokens{"Ab", "Cd"}));
  EXPECT_EQ(data.train[0].gold.at("text"), (Weights{0, 2.5f}));
  EXPECT_EQ(data.train[0].id, "k7");
}

TEST(LoadDataset, TakesAWeightTooSmallForAFloatAsZeroAndAnEscapedBackslashAsText) {
  const Scratch scratch;
  const std::string file = scratch.write(
      "d.jsonl",
      R"({"text": "a \\u0000", "label": "x", "split": "train", "rationale": [1e-60, 0.5]})");
  const Dataset data = load_dataset({.data = file, .val_fraction = 0});
  EXPECT_EQ(text(data.train[0]), (Tokens{"a", "\\u0000"}));
  EXPECT_EQ(data.train[0].gold.at("text"), (Weights{0, 0.5f}));
}

TEST(LoadDataset, CutsTokensAndRationaleAtTheMaximumLength) {
  const Scratch scratch;
  const std::string file = scratch.write(
      "d.tsv", "text\tlabel\tsplit\trationale\na b c d\tx\ttrain\t0 1 0 1\ne\ty\ttrain\t1\n");
  const Dataset data = load_dataset({.data = file, .max_length = 2, .val_fraction = 0});
  EXPECT_EQ(text(data.train[0]), (Tokens{"a", "b"}));
  EXPECT_EQ(data.train[0].gold.at("text"), (Weights{0, 1}));
  EXPECT_EQ(text(data.train[1]), (Tokens{"e"}));
  for (const Example& example :
       load_dataset({.data = "builtin:reviews?size=20", .max_length = 4}).train) {
    EXPECT_EQ(text(example).size(), 4u);
    EXPECT_EQ(example.gold.at("text").size(), 4u);
  }
}

TEST(LoadDataset, ReadsOneFileAPartAndLooksBesideTheConfigFirst) {
  const Scratch scratch;
  scratch.write("config/train.tsv", "text\tlabel\na\tx\nb\ty\n");
  scratch.write("config/val.jsonl", "{\"text\": \"c\", \"label\": \"x\"}\n");
  const std::string test = scratch.write("elsewhere/test.csv", "label,text\ny,d\n");
  const Dataset data = load_dataset({.train = "train.tsv",
                                     .val = "val.jsonl",
                                     .test = test,
                                     .base = scratch.folder() / "config"});
  EXPECT_EQ(data.name, "train");
  EXPECT_EQ(data.train.size(), 2u);
  EXPECT_EQ(text(data.val.at(0)), (Tokens{"c"}));
  EXPECT_EQ(text(data.test.at(0)), (Tokens{"d"}));
  EXPECT_EQ(data.test[0].id, "test-1");
}

TEST(LoadDataset, LooksInTheWorkingFolderWhenTheFileIsNotBesideTheConfig) {
  const Scratch scratch;
  scratch.write("here/d.tsv", "text\tlabel\tsplit\na\tx\ttrain\n");
  const fs::path before = fs::current_path();
  fs::current_path(scratch.folder() / "here");
  const Dataset data = load_dataset({.data = "d.tsv", .base = scratch.folder() / "config"});
  fs::current_path(before);
  EXPECT_EQ(data.train.size(), 1u);
}

std::string labelled_rows(std::size_t count) {
  std::string rows = "text\tlabel\n";
  for (std::size_t i = 0; i < count; ++i) {  // seven of ten are 'often', two 'seldom', one 'rare'
    rows += "word" + std::to_string(i) +
            (i % 10 < 7   ? "\toften\n"
             : i % 10 < 9 ? "\tseldom\n"
                          : "\trare\n");
  }
  return rows;
}

TEST(LoadDataset, HoldsOutTheSameShareOfEachLabelBySeed) {
  const Scratch scratch;
  const std::string file = scratch.write("d.tsv", labelled_rows(200));
  const auto load = [&](std::uint64_t seed) {
    return load_dataset({.train = file, .val_fraction = 0.2, .seed = seed});
  };
  const Dataset data = load(1);
  EXPECT_EQ(data.train.size(), 160u);
  EXPECT_EQ(data.val.size(), 40u);
  std::map<std::string, int> held;
  std::set<Tokens> seen;
  for (const Example& example : data.val) ++held[example.label], seen.insert(text(example));
  for (const Example& example : data.train) seen.insert(text(example));
  EXPECT_EQ(held, (std::map<std::string, int>{{"often", 28}, {"rare", 4}, {"seldom", 8}}));
  EXPECT_EQ(seen.size(), 200u) << "each example is in exactly one part";
  const auto ids = [](const Dataset& d) {
    Tokens all;
    for (const Example& example : d.val) all.push_back(example.id);
    return all;
  };
  EXPECT_EQ(ids(load(1)), ids(data));
  EXPECT_NE(ids(load(2)), ids(data));
}

TEST(LoadDataset, HoldingOutNeverTakesALabelsLastExample) {
  const Scratch scratch;
  const std::string file = scratch.write("d.tsv", "text\tlabel\na\tx\nb\ty\nc\tz\nd\tz\n");
  for (const double fraction : {0.1, 0.5, 0.9}) {
    const Dataset data = load_dataset({.train = file, .val_fraction = fraction});
    std::set<std::string> left;
    for (const Example& example : data.train) left.insert(example.label);
    EXPECT_EQ(left.size(), 3u) << fraction;
    EXPECT_EQ(data.train.size() + data.val.size(), 4u);
  }
  EXPECT_TRUE(load_dataset({.train = file, .val_fraction = 0}).val.empty());
}

TEST(LoadDataset, ALineOfTenMillionBytesIsFine) {
  const Scratch scratch;
  std::string line;
  for (int i = 0; i < 2'000'000; ++i) line += "word ";
  const std::string file = scratch.write("d.csv", "text,label\n\"" + line + "\",x\n");
  const Dataset data = load_dataset({.train = file});
  EXPECT_EQ(text(data.train.at(0)).size(), 2'000'000u);
}

TEST(LoadDataset, CsvFieldsSurviveAnyContent) {
  // Words made of what CSV finds hard; white space only parts words.
  const std::string_view pieces[] = {"\"", ",", "a", "\"\"", "\n", "\r\n", " ", "é", "b"};
  const Scratch scratch;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::string file = "label,text,extra\n";
    std::vector<std::string> texts;
    for (int row = 0; row < 5; ++row) {
      std::string value = "w";
      for (std::size_t i = random.below(12); i > 0; --i)
        value += pieces[random.below(std::size(pieces))];
      std::string quoted = "\"";
      for (const char c : value) quoted += c == '"' ? "\"\"" : std::string(1, c);
      file += "x," + quoted + "\",\"\"" + (random.chance(0.5) ? "\n" : "\r\n");
      texts.push_back(std::move(value));
    }
    const Dataset data = load_dataset({.train = scratch.write("d.csv", file), .val_fraction = 0});
    ASSERT_EQ(data.train.size(), texts.size()) << file;
    for (std::size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(text(data.train[i]), split_words(texts[i])) << file;
  }
}

TEST(LoadDataset, ReadsBuiltinReviewsWithItsOptions) {
  const Dataset data = load_dataset({.data = "builtin:reviews?size=80&seed=3"});
  EXPECT_EQ(data.train.size(), 80u);
  EXPECT_EQ(data.val.size(), 10u);
  EXPECT_EQ(data.test.size(), 20u);
  const Dataset other = load_dataset({.data = "builtin:reviews?seed=4&size=80"});
  EXPECT_NE(text(data.train[0]), text(other.train[0]));
  // The seed of the hold-out is not the corpus's: repeats of a training see the same sentences.
  EXPECT_EQ(text(load_dataset({.data = "builtin:reviews?size=80&seed=3", .seed = 9}).train[0]),
            text(data.train[0]));
}

TEST(LoadExamples, ReadsAllRowsAndDoesWithoutLabels) {
  const Scratch scratch;
  const std::string plain = scratch.write("p.tsv", "text\nOne two\nthree\n");
  const auto unlabelled = load_examples(plain, {});
  ASSERT_EQ(unlabelled.size(), 2u);
  EXPECT_EQ(text(unlabelled[0]), (Tokens{"one", "two"}));
  EXPECT_EQ(unlabelled[0].label, "");
  EXPECT_EQ(unlabelled[1].id, "row-2");
  const std::string split =
      scratch.write("s.tsv", "text\tlabel\tsplit\na\tx\ttrain\nb\t\twhatever\n");
  const auto labelled = load_examples("s.tsv", {.base = scratch.folder()});
  ASSERT_EQ(labelled.size(), 2u);
  EXPECT_EQ(labelled[0].label, "x");
  EXPECT_EQ(labelled[1].label, "");
}

fs::path shared_data() { return fs::path(kSourceDir).parent_path() / "shared" / "data"; }

TEST(LoadDataset, ReadsSst2AsPublished) {
  const fs::path file = shared_data() / "cls-sst2" / "sst2.tsv";
  if (!fs::exists(file))
    GTEST_SKIP() << "no ../shared/data/cls-sst2/sst2.tsv beside the source tree";
  const Dataset data = load_dataset({.data = file.string()});
  EXPECT_EQ(data.name, "sst2");
  EXPECT_EQ(data.labels, (Tokens{"0", "1"}));
  EXPECT_EQ(data.train.size(), 6920u);
  EXPECT_EQ(data.val.size(), 872u);
  EXPECT_EQ(data.test.size(), 1821u);
  EXPECT_EQ(text(data.train[1])[0], "apparently");
  EXPECT_EQ(data.train[1].label, "0");
}

TEST(LoadDataset, ReadsMovieReviewsWithTheirRationales) {
  const fs::path file = shared_data() / "rationale-movies" / "reviews.jsonl";
  if (!fs::exists(file))
    GTEST_SKIP() << "no ../shared/data/rationale-movies/reviews.jsonl beside the source tree";
  const Dataset data = load_dataset({.data = file.string(), .columns = {{"text", "sentences"}}});
  EXPECT_EQ(data.train.size(), 1600u);
  EXPECT_EQ(data.val.size(), 200u);
  EXPECT_EQ(data.test.size(), 199u);
  double share = 0;
  for (const Example& example : data.train) {
    const Weights& gold = example.gold.at("text");
    share += std::accumulate(gold.begin(), gold.end(), 0.0) / static_cast<double>(gold.size());
  }
  EXPECT_NEAR(share / 1600, 0.093, 0.0005);  // as its README counts them
}

}  // namespace
}  // namespace heed
