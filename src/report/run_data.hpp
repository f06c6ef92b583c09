#pragma once
#include <nlohmann/json.hpp>

#include "heed/models/task_model.hpp"

namespace heed {

/// A finished run as the report needs it, read from its directory alone.
struct RunData {
  std::string name;  // the directory's
  Config config;
  std::string toml;
  std::vector<std::string> labels;
  nlohmann::ordered_json curve;     // an array, a point an epoch
  nlohmann::ordered_json test;      // the last line of metrics.jsonl
  nlohmann::ordered_json examples;  // an array of traces
  nlohmann::ordered_json audit;     // of `heed explain --audit`; null: none was made
  std::string wiring;               // a picture of the model, SVG
};

/// InputError with file and line for a damaged file, and for a run that has not finished.
RunData read_run(const std::filesystem::path& folder, std::size_t max_examples);

/// The numbers of a run that are compared between variants: those of the test part, and its cost.
std::map<std::string, double> run_metrics(const RunData& run);

}  // namespace heed
