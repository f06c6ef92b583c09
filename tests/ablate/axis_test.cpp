#include "heed/ablate/axis.hpp"

#include <gtest/gtest.h>

#include "ablate/names.hpp"
#include "data/scratch.hpp"

namespace heed::ablate {
namespace {

using testing::expect_parts;
using testing::message_of;
using testing::names;

using Words = std::vector<std::string>;

TEST(Axis, HasItsKeyInFullAndItsValues) {
  const Axis axis = parse_axis("attention.score=dot, general", names());
  EXPECT_EQ(axis.key, "attention.score");
  EXPECT_EQ(axis.values, (Words{"dot", "general"}));
  EXPECT_FALSE(axis.all);
  EXPECT_EQ(parse_axis("score=dot", names()).key, "attention.score");
  EXPECT_EQ(parse_axis("feature.dim=16,32", names()).values, (Words{"16", "32"}));
}

TEST(Axis, SplitsOutsideBracesAndQuotesOnly) {
  const Axis axis =
      parse_axis(R"(align={ id = "entmax", alpha = 1.3 },soft,{id="entmax"})", names());
  EXPECT_EQ(axis.values, (Words{R"({ id = "entmax", alpha = 1.3 })", "soft", R"({id="entmax"})"}));
  EXPECT_EQ(parse_axis(R"(task.data="a,b.tsv",c.tsv)", names()).values,
            (Words{R"("a,b.tsv")", "c.tsv"}));
  EXPECT_EQ(parse_axis("attention.align.alpha=1.2,1.4", names()).key, "attention.align.alpha");
}

TEST(Axis, AllIsEveryBuiltPartEveryChoiceOrBoth) {
  const Axis mechanisms = parse_axis("mechanism=all", names());
  EXPECT_TRUE(mechanisms.all);
  EXPECT_EQ(mechanisms.values,
            (Words{"singular", "mean-pool", "no-attention", "gate"}));  // pointer: planned
  EXPECT_EQ(parse_axis("train.optimiser=all", names()).values, (Words{"adam", "adamw", "sgd"}));
  EXPECT_EQ(parse_axis("feature.shared=all", names()).values, (Words{"true", "false"}));
}

TEST(Axis, SaysWhatIsWrong) {
  const auto error = [](const char* text) {
    return message_of([&] { parse_axis(text, names()); });
  };
  expect_parts(error("scor=dot"), {"--over", "'scor'", "did you mean 'score'?"});
  expect_parts(error("attention.scre=dot"), {"did you mean 'attention.score'?"});
  expect_parts(error("score"), {"a key and values"});
  expect_parts(error("score="), {"a key and values"});
  expect_parts(error("score=dot,,general"), {"empty value"});
  expect_parts(error("feature.dim=all"), {"cannot be listed"});
  expect_parts(error("train.seed=1,2"), {"--seeds"});
  expect_parts(error("attention.align.alpha=all"), {"not for its options"});
}

TEST(Changes, AreReadInFullAndShownInShort) {
  EXPECT_EQ(parse_changes("score=dot,feature.dim=8"),
            (Words{"attention.score=dot", "feature.dim=8"}));
  EXPECT_EQ(short_change("attention.score=dot"), "score=dot");
  EXPECT_EQ(short_change("attention.dropout=0.1"), "attention.dropout=0.1");
  EXPECT_EQ(short_change("attention.align.alpha=1"), "attention.align.alpha=1");
  EXPECT_EQ(short_change("feature.model=cnn"), "feature.model=cnn");
}

}  // namespace
}  // namespace heed::ablate
