#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heed/ablate/grid.hpp"
#include "heed/ablate/result.hpp"
#include "heed/metrics/compare.hpp"

namespace heed::ablate {

/// One metric over the seeds of a row.
struct Measured {
  metrics::Interval interval = {};  ///< mean and Student's t interval; NaN ends with one seed
  std::vector<double> values = {};
};

struct Failure {
  std::int64_t seed = 0;
  std::string message = "";
};

/// A row of the grid, over its seeds.
struct TableRow {
  std::string name = "";
  std::vector<std::string> changes = {};
  bool baseline = false;
  std::string refusal = "";
  std::vector<Failure> failures = {};
  std::vector<std::string> cells = {};   ///< that finished
  std::vector<std::int64_t> seeds = {};  ///< of these
  std::map<std::string, Measured> val = {}, test = {};
  /// Against the baseline, over the seeds both have; none for the baseline itself, and where there
  /// is nothing to pair.
  std::optional<metrics::CrossedComparison> against = {};
  double p_corrected = 1;  ///< by Holm's method, over all rows that were compared
  std::int64_t parameters = 0;
  double seconds = 0;        ///< of training, the mean
  std::uint64_t memory = 0;  ///< bytes, the most of any seed
};

/// Rows by the mean of the main metric on validation data, the best first; then those without
/// numbers. Nothing is ordered, marked or chosen by test data.
struct Table {
  std::string metric = "";
  bool more_is_better = true;
  std::string split = "";   ///< the part of the data on which rows are compared
  std::size_t pending = 0;  ///< cells that have not ended
  std::vector<TableRow> rows = {};
};

using Results = std::map<std::string, CellResult>;  ///< by the cell's id

Table make_table(const Grid& grid, const Results& results, const std::string& split);

/// For people, without colours; for programs; for spreadsheets (RFC 4180).
std::string to_text(const Table& table);
std::string to_json(const Table& table);
std::string to_csv(const Table& table);

/// In plain sentences: which row is best on validation data, and what may be said of it.
std::vector<std::string> verdict(const Table& table);

}  // namespace heed::ablate
