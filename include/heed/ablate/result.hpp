#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heed::ablate {

/// What was measured on one part of the data.
struct PartResult {
  double loss = 0;
  std::map<std::string, double> metrics;
  std::vector<double> scores;  ///< of each example, see metrics::segment_scores
  std::string examples;        ///< tells other examples from these
};

/// What became of one cell.
struct CellResult {
  std::string failure = "";  ///< why it has no numbers; empty: it has
  std::string metric = "";   ///< what the kind of task is judged by
  bool more_is_better = true;
  PartResult val = {}, test = {};
  std::int64_t parameters = 0, best_epoch = 0, epochs = 0;
  double seconds = 0;        ///< of training
  std::uint64_t memory = 0;  ///< the most bytes its process held
};

std::string to_json(const CellResult& result);
/// InputError that names `source` when the text is damaged.
CellResult parse_result(const std::string& text, const std::string& source);

/// The files of an ablation. A cell is taken by its id alone: its config is read, its run and its
/// result are written.
struct AblationFiles {
  std::filesystem::path folder;
  std::filesystem::path grid() const { return folder / "grid.json"; }
  std::filesystem::path lock() const { return folder / "lock"; }
  std::filesystem::path config(const std::string& cell) const {
    return folder / "configs" / (cell + ".toml");
  }
  std::filesystem::path run(const std::string& cell) const { return folder / "runs" / cell; }
  std::filesystem::path log(const std::string& cell) const {
    return folder / "logs" / (cell + ".txt");
  }
  std::filesystem::path result(const std::string& cell) const {
    return folder / "results" / (cell + ".json");
  }
  std::filesystem::path table_csv() const { return folder / "table.csv"; }
  std::filesystem::path table_json() const { return folder / "table.json"; }
  std::filesystem::path report() const { return folder / "report.html"; }
};

/// The cell's result; none when it has not ended.
std::optional<CellResult> read_result(const AblationFiles& files, const std::string& cell);
/// In one step: a kill leaves no half result.
void write_result(const AblationFiles& files, const std::string& cell, const CellResult& result);

}  // namespace heed::ablate
