#include "heed/models/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "heed/base/error.hpp"

namespace heed {
namespace {

using testing::HasSubstr;

// A registry of names alone: the parser needs no torch.
const Registry& names() {
  static const Registry registry([] {
    std::vector<PartInfo> parts;
    const auto add = [&](Group group, const char* id, Status status = Status::built) {
      parts.push_back({.id = id,
                       .group = group,
                       .title = id,
                       .formula = "",
                       .paper = "",
                       .advice = "",
                       .status = status});
    };
    add(Group::feature, "bigru");
    add(Group::query, "basic");
    for (const char* id : {"singular", "mean-pool"}) add(Group::mechanism, id);
    for (const char* id : {"dot", "additive"}) add(Group::score, id);
    add(Group::align, "soft");
    add(Group::align, "entmax", Status::planned);
    add(Group::queries, "singular");
    add(Group::dimensionality, "single");
    add(Group::position, "none");
    add(Group::output, "softmax");
    add(Group::vectors, "trained");
    for (PartInfo& part : parts) {
      if (part.id == "soft")
        part.options = {{.name = "temperature", .fallback = 1.0, .doc = "T", .min = 0.1, .max = 9}};
    }
    return parts;
  }());
  return registry;
}

std::string error_of(const std::string& text) {
  try {
    parse_config(text, "c.toml", names());
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Config, EmptyTextGivesTheDefaults) {
  const Config config = parse_config("", "c.toml", names());
  EXPECT_EQ(config.task.source.data, "builtin:reviews");
  EXPECT_EQ(config.attention.score.id, "additive");
  EXPECT_TRUE(config.task.source.columns.empty());
}

TEST(Config, ReadsValuesTablesAndColumns) {
  const Config config = parse_config(R"(
[task]
data = "reviews.tsv"
[task.columns]
text = "sentence"
label = 2
[feature]
dim = 32
dropout = 0
[attention]
score = "dot"
align = { id = "soft", temperature = 2 }
[train]
lr = 1e-2
)",
                                     "c.toml", names());
  EXPECT_EQ(config.task.source.columns.at("text"), "sentence");
  EXPECT_EQ(config.task.source.columns.at("label"), "2") << "a column by its number";
  EXPECT_EQ(config.feature.dim, 32);
  EXPECT_EQ(config.feature.dropout, 0.0);
  EXPECT_EQ(std::get<double>(config.attention.align.options.at("temperature")), 2.0);
  EXPECT_EQ(config.train.lr, 0.01);
}

TEST(Config, TrainPathsReplaceTheBuiltInCorpus) {
  const Config config = parse_config("[task]\ntrain = \"a.tsv\"\n", "c.toml", names());
  EXPECT_EQ(config.task.source.train, "a.tsv");
  EXPECT_TRUE(config.task.source.data.empty());
}

TEST(Config, MistakesNameFileLineAndTheNearestWord) {
  EXPECT_EQ(error_of("[attention]\nscroe = \"dot\"\n"),
            "c.toml:2: unknown key 'scroe' in [attention]; did you mean 'score'?");
  EXPECT_EQ(error_of("\n[atention]\n"),
            "c.toml:2: unknown section 'atention'; did you mean 'attention'?");
  EXPECT_EQ(error_of("[attention]\nscore = \"dott\"\n"),
            "c.toml:2: unknown score 'dott'; did you mean 'dot'?");
  EXPECT_THAT(error_of("[attention]\nalign = \"entmax\"\n"),
              HasSubstr("c.toml:2: align 'entmax' is planned, not built yet"));
  EXPECT_THAT(error_of("[attention]\nalign = { id = \"soft\", temprature = 2 }\n"),
              HasSubstr("did you mean 'temperature'?"));
  EXPECT_THAT(error_of("[attention]\nalign = { temperature = 2 }\n"),
              HasSubstr("c.toml:2: the table of 'align' has no id"));
  EXPECT_THAT(error_of("[task]\nkind = \"clasify\"\n"),
              HasSubstr("c.toml:2: unknown kind 'clasify'; did you mean 'classify'?"));
  EXPECT_THAT(error_of("[task.columns]\ntxt = \"a\"\n"),
              HasSubstr("c.toml:2: unknown key 'txt' in [task.columns]; did you mean 'text'?"));
  EXPECT_THAT(error_of("[train]\nepochs = \"ten\"\n"),
              HasSubstr("c.toml:2: 'epochs' must be a whole number"));
  EXPECT_THAT(error_of("[train]\nepochs = 0\n"), HasSubstr("'epochs' is 0, needed is 1"));
  EXPECT_THAT(error_of("[train]\nlr = nan\n"), HasSubstr("c.toml:2: 'lr' is nan"));
  EXPECT_THAT(error_of("[train]\nlr = true\n"), HasSubstr("'lr' must be a number"));
  EXPECT_THAT(error_of("train = 3\n"), HasSubstr("'train' is a section: write [train]"));
  EXPECT_THAT(error_of("[train\n"), HasSubstr("c.toml:1: "));
  EXPECT_THAT(error_of("[train]\nepochs = 1\nepochs = 2\n"), HasSubstr("c.toml:3: "));
  EXPECT_THAT(error_of("a = \"\xFF\"\n"), HasSubstr("not valid UTF-8"));
}

TEST(Config, WrittenConfigsReadBackTheSame) {
  Config config;
  config.task.source.data = "a \"quoted\"\\path\n.tsv";
  config.task.source.columns["text"] = "sentence";
  config.attention.align = {"soft", {{"temperature", 0.5}}};
  config.train.lr = 1.0 / 3;
  const std::string text = to_toml(config);
  const Config again = parse_config(text, "c.toml", names());
  EXPECT_EQ(to_toml(again), text);
  EXPECT_EQ(again.task.source.data, config.task.source.data);
  EXPECT_EQ(again.train.lr, config.train.lr);
}

TEST(Config, TheSchemaNamesEveryKeyAndEveryBuiltId) {
  const auto schema = nlohmann::json::parse(config_schema(names()));
  const auto& attention = schema["properties"]["attention"]["properties"];
  EXPECT_EQ(attention["score"]["anyOf"][0]["enum"], (nlohmann::json{"dot", "additive"}));
  EXPECT_EQ(attention["align"]["anyOf"][0]["enum"], nlohmann::json::array({"soft"}));
  EXPECT_TRUE(
      schema["properties"]["task"]["properties"]["columns"]["properties"].contains("rationale"));
}

}  // namespace
}  // namespace heed
