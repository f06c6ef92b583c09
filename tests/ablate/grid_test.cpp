#include "heed/ablate/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ablate/names.hpp"
#include "data/scratch.hpp"

namespace heed::ablate {
namespace {

using testing::expect_parts;
using testing::message_of;
using testing::names;
using testing::Scratch;

using Words = std::vector<std::string>;

std::string anything_fits(const Config&) { return ""; }

class GridTest : public ::testing::Test {
 protected:
  Grid make(const Words& over, const std::string& config = "[attention]\nscore = \"dot\"\n",
            const std::string& baseline = "config", const Fits& fits = anything_fits) {
    return make_grid({.config = scratch_.write("c.toml", config),
                      .over = over,
                      .baseline = baseline,
                      .seeds = 2},
                     names(), fits);
  }

  static Words row_names(const Grid& grid) {
    Words result;
    for (const Row& row : grid.rows) result.push_back(row.name);
    return result;
  }

  Scratch scratch_;
};

TEST_F(GridTest, AlwaysHasTheConfigAndAttentionReplaced) {
  const Grid grid = make({});
  EXPECT_EQ(row_names(grid), (Words{"as configured", "mean pooling", "no attention"}));
  EXPECT_EQ(grid.baseline, 0u);
  EXPECT_EQ(grid.rows[1].config.attention.mechanism.id, "mean-pool");
}

TEST_F(GridTest, IsEveryCombinationAndTheConfigIsOneOfThem) {
  const Grid grid = make({"score=dot,general", "align=soft,hard"});
  EXPECT_EQ(row_names(grid),
            (Words{"score=dot, align=soft", "score=dot, align=hard", "score=general, align=soft",
                   "score=general, align=hard", "mean pooling", "no attention"}));
  EXPECT_EQ(grid.baseline, 0u);  // dot and soft are the config's own
  EXPECT_EQ(grid.rows[3].config.attention.score.id, "general");
  EXPECT_EQ(grid.rows[3].config.attention.align.id, "hard");
}

TEST_F(GridTest, APartLeftToItsDefaultIsTheSameAsOneThatIsNamed) {
  const Grid grid = make({"score=dot,additive"}, "[train]\nepochs = 1\n");
  EXPECT_EQ(grid.rows[grid.baseline].name, "score=additive");
  EXPECT_EQ(grid.rows.size(), 4u);
}

TEST_F(GridTest, AConfigOutsideTheAxesIsARowOfItsOwn) {
  const Grid grid = make({"score=additive,general"});
  EXPECT_EQ(grid.rows[grid.baseline].name, "as configured");
  EXPECT_EQ(grid.rows.size(), 5u);
}

TEST_F(GridTest, WhatHasNoScoreIsNotRepeatedForEveryScore) {
  const Grid grid = make({"mechanism=singular,gate,mean-pool", "score=dot,general", "queries=all"});
  EXPECT_EQ(row_names(grid),
            (Words{"mechanism=singular, score=dot, queries=singular",
                   "mechanism=singular, score=dot, queries=multi-head",
                   "mechanism=singular, score=general, queries=singular",
                   "mechanism=singular, score=general, queries=multi-head",
                   "mechanism=gate, queries=singular", "mechanism=gate, queries=multi-head",
                   "mechanism=mean-pool", "no attention"}));
}

TEST_F(GridTest, MeanPoolingIsOneRowHoweverItIsAskedFor) {
  const Grid grid = make({"mechanism=singular,mean-pool", "feature.dim=8,16"},
                         "[attention]\nqueries = \"multi-head\"\n[feature]\ndim = 16\n");
  EXPECT_EQ(row_names(grid),
            (Words{"mechanism=singular, feature.dim=8", "mechanism=singular, feature.dim=16",
                   "mechanism=mean-pool, feature.dim=8", "mechanism=mean-pool, feature.dim=16",
                   "no attention"}));
  EXPECT_EQ(grid.rows[2].config.attention.queries.id, "singular");
  EXPECT_EQ(grid.rows[2].config.feature.dim, 8);
  EXPECT_EQ(grid.rows[4].changes, (Words{"attention.mechanism=no-attention", "query.model=basic",
                                         "train.supervise=0", "attention.queries=singular"}));
}

TEST_F(GridTest, ReplacedAttentionTakesItsQueryAndItsTeacherWithIt) {
  const Grid grid = make({},
                         "[query]\nmodel = \"specialised\"\n[attention]\nqueries = "
                         "\"multi-head\"\n[train]\nsupervise = 1\n");
  const Config& none = grid.rows[2].config;
  EXPECT_EQ(none.query.id, "basic");
  EXPECT_EQ(none.attention.queries.id, "singular");
  EXPECT_EQ(none.train.supervise, 0);
  EXPECT_EQ(grid.rows[0].config.train.supervise, 1);
}

TEST_F(GridTest, TheBaselineMayBeChosen) {
  const Grid grid = make({"score=dot,general"}, "[attention]\nscore = \"dot\"\n", "score=general");
  EXPECT_EQ(grid.rows[grid.baseline].name, "score=general");
  const Grid pool =
      make({"score=dot,general"}, "[attention]\nscore = \"dot\"\n", "mechanism=mean-pool");
  EXPECT_EQ(pool.rows[pool.baseline].config.attention.mechanism.id, "mean-pool");
  EXPECT_EQ(pool.rows.size(), 4u);  // mean pooling once
}

TEST_F(GridTest, WhatDoesNotFitIsListedWithItsReasonAndNotRun) {
  const Fits no_hard = [](const Config& config) {
    return config.attention.align.id == "hard" ? "hard is refused" : "";
  };
  const Grid grid = make({"align=all"}, "[attention]\nscore = \"dot\"\n", "config", no_hard);
  EXPECT_EQ(grid.rows[1].refusal, "hard is refused");
  EXPECT_EQ(list_cells(grid).size(), 2u * (grid.rows.size() - 1));
  const std::string message =
      message_of([&] { make({}, "[attention]\nalign = \"hard\"\n", "config", no_hard); });
  expect_parts(message, {"baseline", "hard is refused"});
}

TEST_F(GridTest, WrongValuesAreErrorsWithoutALineTheyDoNotStandOn) {
  const std::string message = message_of([&] { make({"score=dott"}); });
  expect_parts(message, {"score=dott: ", "did you mean 'dot'?"});
  EXPECT_EQ(message.find("c.toml"), std::string::npos) << message;
  expect_parts(message_of([&] { make({"feature.dim=0,8"}); }), {"feature.dim=0", "needed is 1"});
  expect_parts(message_of([&] { make({}, "[attention]\nscore = \"dt\"\n"); }), {"c.toml:2"});
  expect_parts(message_of([&] { make({}, "[train]\nepochs = 1\n", "scr=dot"); }), {"'scr'"});
}

TEST_F(GridTest, CellsHaveNamesThatTellThemApartAndSeedsInTurn) {
  const Grid grid = make({"score=dot,general", "align=soft,hard"}, "[train]\nseed = 7\n");
  const std::vector<Cell> cells = list_cells(grid);
  EXPECT_EQ(cells.size(), 2 * grid.rows.size());
  std::set<std::string> ids;
  for (const Cell& cell : cells) {
    ids.insert(cell.id);
    EXPECT_EQ(cell_config(grid, cell).train.seed, cell.seed);
    EXPECT_TRUE(cell.id.ends_with(fmt::format("-{}", cell.seed)));
    EXPECT_EQ(cell.id.find_first_of("/ ,="), std::string::npos) << cell.id;
  }
  EXPECT_EQ(ids.size(), cells.size());
  EXPECT_EQ(cells[0].seed, 7);
  EXPECT_EQ(cells[grid.rows.size() - 1].seed, 7);  // the first seed of all rows comes first
  EXPECT_EQ(cells[grid.rows.size()].seed, 8);
}

TEST_F(GridTest, IsTheSameWhenMadeAgainAndAnotherForAnotherConfig) {
  const Grid first = make({"score=dot,general"});
  const auto ids = [](const Grid& grid) {
    Words result;
    for (const Cell& cell : list_cells(grid)) result.push_back(cell.id);
    return result;
  };
  const Grid again = make({"score=dot,general"});
  EXPECT_EQ(ids(first), ids(again));
  EXPECT_EQ(describe(first), describe(again));
  const Grid other =
      make({"score=dot,general"}, "[feature]\ndim = 8\n[attention]\nscore = \"dot\"\n");
  EXPECT_NE(describe(first), describe(other));
  EXPECT_NE(ids(first)[0], ids(other)[0]);
  EXPECT_NE(describe(first), describe(make({"score=dot,additive"})));
}

TEST_F(GridTest, TooManyCombinationsAreRefusedBeforeTheyAreMade) {
  const Words over(12, "score=all");  // 3^12
  expect_parts(message_of([&] { make(over); }), {"more than 10000"});
}

}  // namespace
}  // namespace heed::ablate
