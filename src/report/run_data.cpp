#include "report/run_data.hpp"

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/json_text.hpp"
#include "heed/base/words.hpp"
#include "heed/models/describe.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Json> read_json_lines(const std::filesystem::path& file, std::size_t most) {
  std::vector<Json> result;
  std::size_t number = 0;
  for (const std::string& line : split(read_file(file), '\n')) {
    ++number;
    if (line.empty()) continue;
    if (result.size() == most) break;
    result.push_back(Json::parse(shallow_json(line), nullptr, /*allow_exceptions=*/false));
    HEED_CHECK(result.back().is_object(), "{}:{}: damaged: a JSON object is needed", file.string(),
               number);
  }
  return result;
}

Json read_audit(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  const std::string text = read_file(file);
  Json audit = Json::parse(shallow_json(text), nullptr, /*allow_exceptions=*/false);
  HEED_CHECK(audit.is_object(), "{}: damaged; delete it and run 'heed explain --audit' again",
             file.string());
  return audit;
}

}  // namespace

RunData read_run(const std::filesystem::path& folder, std::size_t max_examples) {
  const RunFiles files{folder};
  const LoadedRun loaded = load_untrained(folder);
  RunData run{.name = std::filesystem::absolute(folder).lexically_normal().filename().string(),
              .config = loaded.config,
              .toml = read_file(files.config()),
              .labels = loaded.info.labels,
              .curve = Json::array(),
              .examples = Json::array(),
              .audit = read_audit(folder / "audit" / "audit.json"),
              .wiring = to_svg(describe(loaded.config, *loaded.model))};
  if (run.name.empty())
    run.name =
        std::filesystem::absolute(folder).lexically_normal().parent_path().filename().string();
  for (Json& line : read_json_lines(files.metrics(), std::string::npos)) {
    if (line.contains("split")) {
      run.test = std::move(line);
    } else {
      run.curve.push_back(std::move(line));
    }
  }
  HEED_CHECK(!run.test.is_null(),
             "{}: the training has not finished; go on with 'heed train {} --out {} --resume'",
             folder.string(), files.config().string(), folder.string());
  for (Json& line : read_json_lines(files.traces(), max_examples))
    run.examples.push_back(std::move(line));
  return run;
}

std::map<std::string, double> run_metrics(const RunData& run) {
  std::map<std::string, double> result;
  if (run.test.contains("metrics")) {
    for (const auto& [name, metric] : run.test["metrics"].items())
      result[name] = metric.value("value", 0.0);
  }
  result["parameters"] = run.test.value("parameters", 0.0);
  result["seconds"] = run.test.value("train_seconds", 0.0);
  return result;
}

}  // namespace heed
