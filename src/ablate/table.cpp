#include "heed/ablate/table.hpp"

#include <algorithm>
#include <cmath>

namespace heed::ablate {
namespace {

void add_values(std::map<std::string, Measured>& into, const PartResult& part) {
  for (const auto& [name, value] : part.metrics) into[name].values.push_back(value);
}

void summarise(std::map<std::string, Measured>& measured) {
  for (auto& [name, m] : measured) m.interval = metrics::mean_interval(m.values);
}

/// The finished cells of one row, by seed.
using Finished = std::map<std::int64_t, const CellResult*>;

TableRow make_row(const Row& row, const Finished& finished) {
  TableRow result{.name = row.name, .changes = row.changes, .refusal = row.refusal};
  for (const auto& [seed, cell] : finished) {
    result.seeds.push_back(seed);
    add_values(result.val, cell->val);
    add_values(result.test, cell->test);
    result.parameters = cell->parameters;
    result.seconds += cell->seconds / static_cast<double>(finished.size());
    result.memory = std::max(result.memory, cell->memory);
  }
  summarise(result.val);
  summarise(result.test);
  return result;
}

/// The scores of the seeds that both rows have on the same examples.
std::optional<metrics::CrossedComparison> compare(const Finished& row, const Finished& baseline,
                                                  PartResult CellResult::*part) {
  metrics::SeedScores a, b;
  for (const auto& [seed, cell] : row) {
    const auto other = baseline.find(seed);
    if (other == baseline.end()) continue;
    const PartResult &ours = cell->*part, &theirs = other->second->*part;
    if (ours.scores.empty() || ours.examples != theirs.examples) return {};
    a.push_back(ours.scores);
    b.push_back(theirs.scores);
  }
  if (a.empty()) return {};
  return metrics::compare_crossed(a, b);
}

void correct(std::vector<TableRow>& rows) {
  std::vector<double> p_values;
  p_values.reserve(rows.size());
  for (const TableRow& row : rows)
    p_values.push_back(row.against ? row.against->p_value
                                   : std::numeric_limits<double>::quiet_NaN());
  const std::vector<double> corrected = metrics::holm(p_values);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].p_corrected = corrected[i];
}

/// What rows are ordered by: less is earlier. NaN and missing numbers come last.
double place_of(const TableRow& row, const Table& table) {
  const auto found = row.val.find(table.metric);
  if (found == row.val.end() || std::isnan(found->second.interval.mean))
    return std::numeric_limits<double>::infinity();
  return table.more_is_better ? -found->second.interval.mean : found->second.interval.mean;
}

}  // namespace

Table make_table(const Grid& grid, const Results& results, const std::string& split) {
  Table table{.split = split};
  std::vector<Finished> finished(grid.rows.size());
  std::vector<std::vector<Failure>> failures(grid.rows.size());
  std::vector<std::vector<std::string>> ids(grid.rows.size());
  for (const Cell& cell : list_cells(grid)) {
    const auto found = results.find(cell.id);
    if (found == results.end()) {
      ++table.pending;
    } else if (!found->second.failure.empty()) {
      failures[cell.row].push_back({cell.seed, found->second.failure});
    } else {
      finished[cell.row][cell.seed] = &found->second;
      ids[cell.row].push_back(cell.id);
      table.metric = found->second.metric;
      table.more_is_better = found->second.more_is_better;
    }
  }
  const auto part = split == "val" ? &CellResult::val : &CellResult::test;
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    TableRow row = make_row(grid.rows[r], finished[r]);
    row.failures = std::move(failures[r]);
    row.cells = std::move(ids[r]);
    row.baseline = r == grid.baseline;
    if (!row.baseline) row.against = compare(finished[r], finished[grid.baseline], part);
    table.rows.push_back(std::move(row));
  }
  correct(table.rows);
  std::ranges::stable_sort(table.rows, [&](const TableRow& a, const TableRow& b) {
    const double x = place_of(a, table), y = place_of(b, table);
    return x != y ? x < y : a.refusal.empty() && !b.refusal.empty();
  });
  return table;
}

}  // namespace heed::ablate
