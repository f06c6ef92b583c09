#include "heed/attention/registry_json.hpp"

#include <nlohmann/json.hpp>

#include "heed/attention/registry.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const OptionInfo& option) {
  Json json{{"name", option.name}, {"doc", option.doc}};
  std::visit([&](const auto& value) { json["default"] = value; }, option.fallback);
  if (!option.choices.empty()) json["choices"] = option.choices;
  return json;
}

}  // namespace

Json to_json(const PartInfo& part) {
  Json options = Json::array();
  for (const OptionInfo& option : part.options) options.push_back(to_json(option));
  return {
      {"id", part.id},           {"group", name(part.group)},
      {"family", part.family},   {"title", part.title},
      {"formula", part.formula}, {"paper", part.paper},
      {"inputs", part.inputs},   {"time", part.time},
      {"memory", part.memory},   {"advice", part.advice},
      {"suits", part.suits},     {"options", options},
      {"fused", part.fused},     {"status", part.status == Status::built ? "built" : "planned"}};
}

PartSpec spec_from_json(const Json& json, std::string_view where) {
  if (json.is_string()) return {json.get<std::string>()};
  HEED_CHECK(json.is_object() && json.contains("id") && json["id"].is_string(),
             "{}: an id, or a table with 'id' and options, is needed", where);
  PartSpec spec{json["id"].get<std::string>()};
  for (const auto& [key, value] : json.items()) {
    if (key == "id") continue;
    if (value.is_boolean()) {
      spec.options[key] = value.get<bool>();
    } else if (value.is_number_integer()) {
      spec.options[key] = value.get<std::int64_t>();
    } else if (value.is_number()) {
      spec.options[key] = value.get<double>();
    } else {
      HEED_CHECK(value.is_string(), "{}: option '{}' must be a number, a text, true or false",
                 where, key);
      spec.options[key] = value.get<std::string>();
    }
  }
  return spec;
}

}  // namespace heed
