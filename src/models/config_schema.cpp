#include <nlohmann/json.hpp>

#include "models/config_fields.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

Json option_schema(const OptionInfo& option) {
  Json schema{{"description", option.doc}};
  std::visit([&](const auto& value) { schema["default"] = value; }, option.fallback);
  constexpr const char* kTypes[] = {"boolean", "integer", "number", "string"};
  schema["type"] = kTypes[option.fallback.index()];
  if (!option.choices.empty()) schema["enum"] = option.choices;
  return schema;
}

// An id, or a table with the id and its options.
Json part_schema(const Registry& registry, Group group) {
  Json ids = Json::array(), tables = Json::array();
  for (const PartInfo& part : registry.parts()) {
    if (part.group != group || part.status != Status::built) continue;
    ids.push_back(part.id);
    Json properties{{"id", {{"const", part.id}}}};
    for (const OptionInfo& option : part.options) properties[option.name] = option_schema(option);
    tables.push_back({{"type", "object"},
                      {"properties", properties},
                      {"required", {"id"}},
                      {"additionalProperties", false}});
  }
  Json any = Json::array({{{"enum", ids}}});
  for (Json& table : tables) any.push_back(std::move(table));
  return {{"anyOf", any}};
}

struct Schema {
  const Field& field;
  const Registry& registry;

  Json operator()(const std::string* value) const {
    Json schema{{"type", "string"}, {"default", *value}};
    if (!field.choices.empty()) schema["enum"] = field.choices;
    return schema;
  }
  Json operator()(const std::int64_t* value) const { return number("integer", *value); }
  Json operator()(const double* value) const { return number("number", *value); }
  Json operator()(const bool* value) const { return {{"type", "boolean"}, {"default", *value}}; }
  Json operator()(const PartField& part) const {
    Json schema = part_schema(registry, part.group);
    schema["default"] = part.spec->id;
    return schema;
  }

  template <class T>
  Json number(const char* type, T value) const {
    return {{"type", type}, {"default", value}, {"minimum", field.min}, {"maximum", field.max}};
  }
};

}  // namespace

std::string config_schema(const Registry& registry) {
  Json root{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
            {"title", "heed config"},
            {"type", "object"},
            {"additionalProperties", false},
            {"properties", Json::object()}};
  Config defaults;
  for (const Field& field : config_fields(defaults)) {
    Json* table = &root;
    for (std::size_t start = 0; start <= field.section.size();) {
      const std::size_t end = std::min(field.section.find('.', start), field.section.size());
      Json& next = (*table)["properties"][field.section.substr(start, end - start)];
      if (next.is_null())
        next = {
            {"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
      table = &next;
      start = end + 1;
    }
    Json schema = std::visit(Schema{field, registry}, field.value);
    schema["description"] = field.doc;
    (*table)["properties"][field.name] = std::move(schema);
  }
  return root.dump(2);
}

}  // namespace heed
