#include "heed/ablate/table.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ablate/names.hpp"
#include "heed/base/words.hpp"

namespace heed::ablate {
namespace {

/// Rows a (the baseline), b, c and one that does not fit, two seeds each.
Grid grid() {
  Grid result{.rows = {{.name = "a", .changes = {}},
                       {.name = "b, \"quoted\"", .changes = {"attention.score=dot"}},
                       {.name = "c", .changes = {}},
                       {.name = "d", .changes = {}, .refusal = "too wide"}},
              .baseline = 0,
              .seeds = 2};
  std::int64_t dim = 1;
  for (Row& row : result.rows) row.config.feature.dim = dim++;
  return result;
}

CellResult cell(std::vector<double> test, double val, const std::string& metric = "accuracy") {
  double sum = 0;
  for (const double score : test) sum += score;
  CellResult result{.metric = metric, .more_is_better = metric != "mae", .parameters = 10};
  result.val.metrics[metric] = val;
  result.test = {.loss = 0,
                 .metrics = {{metric, sum / static_cast<double>(test.size())}},
                 .scores = std::move(test),
                 .examples = "same"};
  result.seconds = 2;
  result.memory = 1000;
  return result;
}

/// The results of rows a, b, c in both seeds.
Results results(const Grid& g, const std::string& metric = "accuracy") {
  const std::vector<double> bad = {0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0},
                            good = {1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1};
  Results found;
  for (const Cell& c : list_cells(g)) {
    const double wobble = 0.01 * static_cast<double>(c.seed);
    if (c.row == 0) found[c.id] = cell(bad, 0.2 + wobble, metric);
    if (c.row == 1) found[c.id] = cell(good, 0.9 + wobble, metric);
    if (c.row == 2) found[c.id] = cell(bad, 0.3 + wobble, metric);
  }
  return found;
}

std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const TableRow& row : table.rows) names.push_back(row.name);
  return names;
}

using Words = std::vector<std::string>;

TEST(Table, IsOrderedByValidationAndComparedWithTheBaseline) {
  const Grid g = grid();
  const Table table = make_table(g, results(g), "test");
  EXPECT_EQ(names_of(table), (Words{"b, \"quoted\"", "c", "a", "d"}));
  EXPECT_EQ(table.metric, "accuracy");
  const TableRow& best = table.rows[0];
  EXPECT_NEAR(best.val.at("accuracy").interval.mean, 0.915, 1e-12);
  EXPECT_EQ(best.val.at("accuracy").values.size(), 2u);
  EXPECT_NEAR(best.against->difference.mean, 9.0 / 12, 1e-12);
  EXPECT_LT(best.p_corrected, 0.05);
  EXPECT_DOUBLE_EQ(best.p_corrected, 2 * best.against->p_value);  // Holm: two comparisons
  EXPECT_EQ(table.rows[1].against->p_value, 1);
  EXPECT_FALSE(table.rows[2].against);
  EXPECT_TRUE(table.rows[2].baseline);
  EXPECT_EQ(table.rows[3].refusal, "too wide");
}

TEST(Table, WhereLessIsBetterTheLeastComesFirst) {
  const Grid g = grid();
  EXPECT_EQ(names_of(make_table(g, results(g, "mae"), "test")),
            (Words{"a", "c", "b, \"quoted\"", "d"}));
}

TEST(Table, KeepsFailedCellsAndComparesTheSeedsThatAreLeft) {
  const Grid g = grid();
  Results found = results(g);
  std::string missing;
  for (const Cell& c : list_cells(g)) {
    if (c.row == 1 && c.seed == 2) found[c.id] = {.failure = "out of memory"};
    if (c.row == 2 && c.seed == 1) missing = c.id;
  }
  found.erase(missing);
  const Table table = make_table(g, found, "test");
  const TableRow& row = table.rows[0];
  ASSERT_EQ(row.failures.size(), 1u);
  EXPECT_EQ(row.failures[0].seed, 2);
  EXPECT_EQ(row.failures[0].message, "out of memory");
  EXPECT_EQ(row.seeds, (std::vector<std::int64_t>{1}));
  EXPECT_TRUE(std::isnan(row.against->p_seeds));
  EXPECT_EQ(table.pending, 1u);
  EXPECT_NE(to_text(table).find("seed 2: failed: out of memory"), std::string::npos);
  EXPECT_NE(to_csv(table).find("some seeds failed"), std::string::npos);
}

TEST(Table, DoesNotPairOtherExamples) {
  const Grid g = grid();
  Results found = results(g);
  for (const Cell& c : list_cells(g)) {
    if (c.row == 1) found[c.id].test.examples = "others";
  }
  const Table table = make_table(g, found, "test");
  EXPECT_FALSE(table.rows[0].against);
  EXPECT_TRUE(std::isnan(table.rows[0].p_corrected));
}

TEST(Table, WithoutAnyResultSaysSo) {
  const Table table = make_table(grid(), {}, "test");
  EXPECT_EQ(table.pending, 6u);
  EXPECT_EQ(verdict(table).size(), 1u);
  EXPECT_NE(to_text(table).find("does not fit: too wide (d)"), std::string::npos);
}

TEST(Table, IsWrittenAsJsonAndCsv) {
  const Grid g = grid();
  const Table table = make_table(g, results(g), "test");
  const auto json = nlohmann::json::parse(to_json(table));
  ASSERT_EQ(json["rows"].size(), 4u);
  EXPECT_EQ(json["rows"][0]["against_baseline"]["significant"], true);
  EXPECT_EQ(json["rows"][1]["against_baseline"]["significant"], false);
  EXPECT_EQ(json["rows"][2]["baseline"], true);
  EXPECT_EQ(json["rows"][3]["does_not_fit"], "too wide");
  EXPECT_EQ(json["rows"][0]["test"]["accuracy"]["values"].size(), 2u);
  const Words lines = split(to_csv(table), '\n');
  ASSERT_EQ(lines.size(), 6u);  // a head, four rows, nothing after the last end of line
  EXPECT_TRUE(lines[1].starts_with("\"b, \"\"quoted\"\"\",attention.score=dot,,finished,2,0.915"));
  const auto commas = [](const std::string& line) { return std::ranges::count(line, ','); };
  EXPECT_EQ(commas(lines[2]), commas(lines[0]));
  EXPECT_EQ(commas(lines[4]), commas(lines[0]));
  EXPECT_TRUE(lines[4].find("does not fit") != std::string::npos);
}

TEST(Table, SaysInWordsWhatItShows) {
  const Grid g = grid();
  const Words lines = verdict(make_table(g, results(g), "test"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[0].find("is best on validation data"), std::string::npos);
  EXPECT_NE(lines[1].find("more than chance"), std::string::npos);
  EXPECT_NE(lines[2].find("Of 2 rows compared, 1 is significantly better"), std::string::npos);
}

}  // namespace
}  // namespace heed::ablate
