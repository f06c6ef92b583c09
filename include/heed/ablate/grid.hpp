#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "heed/models/config.hpp"

namespace heed::ablate {

/// What `heed ablate` is asked for.
struct GridRequest {
  std::filesystem::path config;
  std::vector<std::string> set = {};   ///< changes to the config itself, as `heed train --set`
  std::vector<std::string> over = {};  ///< see parse_axis
  std::string baseline = "config";     ///< or changes, `key=value,key=value`
  std::int64_t seeds = 3;              ///< from the config's seed upwards
};

/// One way to configure the model, to be trained with every seed.
struct Row {
  std::string name;  ///< "score=dot, align=soft"; "as configured"; "mean pooling" …
  std::vector<std::string> changes;  ///< to the config, as --set
  Config config = {};                ///< of the first seed, paths absolute
  std::string refusal = "";          ///< why the parts do not fit together; empty: they do
};

struct Grid {
  std::vector<Row> rows;
  std::size_t baseline = 0;  ///< the row that the others are compared with
  std::int64_t seeds = 0;
};

/// Why the model of a config cannot be made, in a sentence; empty: it can.
using Fits = std::function<std::string(const Config&)>;

/// Every combination of the axes' values, the config as it is, the baseline, and attention replaced
/// by mean pooling and by nothing. Rows whose configs are equal are one; where the mechanism has no
/// score and alignment, those axes do not make rows. A key or value that is wrong is an InputError;
/// one of `all` that does not parse alone, like vectors without a file, does not fit.
Grid make_grid(const GridRequest& request, const Registry& registry, const Fits& fits);

/// One training: a row and a seed. The id names its files and tells all it depends on by a hash of
/// its config.
struct Cell {
  std::size_t row = 0;
  std::int64_t seed = 1;
  std::string id;
};

Config cell_config(const Grid& grid, const Cell& cell);

/// The cells of all rows that fit, seed by seed: a grid that is stopped early has whole columns.
std::vector<Cell> list_cells(const Grid& grid);

/// What makes two grids the same, but for the number of seeds, as JSON: a directory holds one.
std::string describe(const Grid& grid);

}  // namespace heed::ablate
