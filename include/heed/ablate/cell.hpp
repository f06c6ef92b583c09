#pragma once
#include <optional>
#include <string>

#include "heed/ablate/grid.hpp"
#include "heed/ablate/result.hpp"
#include "heed/data/batches.hpp"

namespace heed::ablate {

/// Tells whether the model of a config can be made for its data and take a step, without training:
/// parts that do not go together are found before anything is run. The data is read once for
/// configs that agree in it; a mistake in the data itself is an InputError.
class FitCheck {
 public:
  /// Why it cannot, in a sentence; empty: it can.
  std::string operator()(const Config& config);

 private:
  void read(const Config& config);

  std::string read_for_;
  Dataset data_;
  std::optional<DataInfo> info_;
};

/// Trains the cell's config into its run directory, or goes on with it, measures the best epoch on
/// validation and test data, and writes the result. An error in training is the result's failure;
/// an id that the grid does not have is an InputError.
CellResult run_cell(const AblationFiles& files, const std::string& cell);

}  // namespace heed::ablate
