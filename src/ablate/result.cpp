#include "heed/ablate/result.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"

namespace heed::ablate {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no NaN: it is written as null.
double number_or_nan(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json part_to_json(const PartResult& part) {
  return {{"loss", part.loss},
          {"metrics", part.metrics},
          {"examples", part.examples},
          {"scores", part.scores}};
}

PartResult part_from_json(const Json& json) {
  PartResult part{.loss = number_or_nan(json.at("loss")), .examples = json.at("examples")};
  for (const auto& [name, value] : json.at("metrics").items())
    part.metrics[name] = number_or_nan(value);
  for (const Json& score : json.at("scores")) part.scores.push_back(number_or_nan(score));
  return part;
}

}  // namespace

std::string to_json(const CellResult& result) {
  Json json;
  if (!result.failure.empty()) {
    json = {{"failure", result.failure}};
  } else {
    json = {{"metric", result.metric},          {"more_is_better", result.more_is_better},
            {"parameters", result.parameters},  {"best_epoch", result.best_epoch},
            {"epochs", result.epochs},          {"seconds", result.seconds},
            {"memory", result.memory},          {"val", part_to_json(result.val)},
            {"test", part_to_json(result.test)}};
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

CellResult parse_result(const std::string& text, const std::string& source) {
  try {
    const Json json = Json::parse(text);
    if (json.contains("failure")) return {.failure = json["failure"].get<std::string>()};
    return {.metric = json.at("metric"),
            .more_is_better = json.at("more_is_better"),
            .val = part_from_json(json.at("val")),
            .test = part_from_json(json.at("test")),
            .parameters = json.at("parameters"),
            .best_epoch = json.at("best_epoch"),
            .epochs = json.at("epochs"),
            .seconds = json.at("seconds"),
            .memory = json.at("memory")};
  } catch (const Json::exception&) {
    throw InputError(fmt::format("{}: damaged; remove it, and its cell is run again", source));
  }
}

std::optional<CellResult> read_result(const AblationFiles& files, const std::string& cell) {
  const std::filesystem::path path = files.result(cell);
  if (!std::filesystem::exists(path)) return {};
  return parse_result(read_file(path), path.string());
}

void write_result(const AblationFiles& files, const std::string& cell, const CellResult& result) {
  write_file(files.result(cell), to_json(result));
}

}  // namespace heed::ablate
