#include "heed/ablate/axis.hpp"

#include <algorithm>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "models/config_fields.hpp"

namespace heed::ablate {
namespace {

std::string full_name(const Field& field) { return field.section + "." + field.name; }

bool is_attention_part(const Field& field) {
  return field.section == "attention" && std::holds_alternative<PartField>(field.value);
}

/// The field that `key` names, by its full name, by the name of a part of attention, or as an
/// option of a part (`attention.align.alpha`), with the key in full.
std::pair<Field, std::string> find_field(const std::string& key) {
  Config defaults;
  std::vector<std::string> known;
  for (const Field& field : config_fields(defaults)) {
    const std::string full = full_name(field);
    if (key == full || (is_attention_part(field) && key == field.name)) return {field, full};
    if (std::holds_alternative<PartField>(field.value) && key.starts_with(full + "."))
      return {field, key};
    known.push_back(full);
    if (is_attention_part(field)) known.push_back(field.name);
  }
  throw InputError(fmt::format("--over: unknown key '{}'{}", key, suggestion(key, known)));
}

struct AllValues {
  const Field& field;
  const Registry& registry;

  std::vector<std::string> operator()(const PartField& part) const {
    std::vector<std::string> ids;
    for (const PartInfo& info : registry.parts()) {
      if (info.group == part.group && info.status == Status::built) ids.push_back(info.id);
    }
    return ids;
  }
  std::vector<std::string> operator()(bool*) const { return {"true", "false"}; }
  template <class Other>
  std::vector<std::string> operator()(Other*) const {
    HEED_CHECK(!field.choices.empty(),
               "--over {0}=all: its values cannot be listed; write them, as in --over {0}=A,B",
               full_name(field));
    return field.choices;
  }
};

/// Splits at commas that stand outside braces, brackets and quotes.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
  }
  for (std::string& value : values) value = trim(value);
  return values;
}

std::pair<std::string, std::string> key_and_value(std::string_view text, std::string_view flag) {
  const std::size_t equals = text.find('=');
  HEED_CHECK(
      equals != std::string_view::npos && equals > 0 && !trim(text.substr(equals + 1)).empty(),
      "{0} {1}: a key and values are needed, as in {0} score=dot,general", flag, text);
  return {std::string(trim(text.substr(0, equals))), std::string(trim(text.substr(equals + 1)))};
}

}  // namespace

Axis parse_axis(std::string_view text, const Registry& registry) {
  const auto [key, list] = key_and_value(text, "--over");
  const auto [field, full] = find_field(key);
  HEED_CHECK(full != "train.seed", "--over {}: seeds are not ablated; --seeds N says how many",
             text);
  Axis axis{.key = full, .values = split_values(list), .all = list == "all"};
  if (axis.all) {
    HEED_CHECK(full == full_name(field),
               "--over {}: 'all' is for keys that name a part, not for its options", text);
    axis.values = std::visit(AllValues{field, registry}, field.value);
  }
  HEED_CHECK(std::ranges::none_of(axis.values, &std::string::empty),
             "--over {}: there is an empty value between the commas", text);
  return axis;
}

std::vector<std::string> parse_changes(std::string_view text) {
  std::vector<std::string> changes;
  for (const std::string& part : split_values(text)) {
    const auto [key, value] = key_and_value(part, "--baseline");
    changes.push_back(find_field(key).second + "=" + value);
  }
  return changes;
}

std::string short_change(const std::string& change) {
  const std::string key = change.substr(0, change.find('='));
  const auto [field, full] = find_field(key);
  return is_attention_part(field) && full == full_name(field)
             ? field.name + change.substr(key.size())
             : change;
}

}  // namespace heed::ablate
