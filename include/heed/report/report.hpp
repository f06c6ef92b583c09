#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace heed {

/// What the report shows above the runs.
struct ReportOptions {
  std::string title = "heed report";
  std::string command;                     // what made it
  std::vector<std::string> summary;        // plain sentences, the verdict first; empty: none
  std::size_t max_examples = 200;          // of each run
  std::vector<std::string> variants = {};  // of each run; empty: told from their configs
  std::string ablation = "";               // an ablation's table (JSON); empty: none
};

/// Mean and spread of one metric over the runs of a variant.
struct VariantMetric {
  double mean = 0, sd = 0;
  std::vector<double> values;
};

/// Runs that differ only in their seed.
struct Variant {
  std::string name;
  std::vector<std::size_t> runs;  // indices into the list given
  std::map<std::string, VariantMetric> metrics;
};

/// Groups finished runs by what their configs have in common, in order of first appearance. A run
/// that did not finish is an InputError that says how to finish it.
std::vector<Variant> group_runs(std::span<const std::filesystem::path> runs);

/// One self-contained HTML file of all runs: no request to anywhere. Text from data is escaped.
void write_report(std::span<const std::filesystem::path> runs, const std::filesystem::path& out,
                  const ReportOptions& options);

}  // namespace heed
