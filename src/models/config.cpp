#include "heed/models/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "models/config_fields.hpp"
#include "models/toml.hpp"

namespace heed {
namespace {

/// FILE:LINE, or the change on the command line that it is in.
std::string at(const std::string& file, const toml::source_region& where) {
  if (where.path && *where.path != file) return *where.path;
  return fmt::format("{}:{}", file, where.begin.line);
}

OptionValue option_value(const toml::node& node, const std::string& where) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* text = node.as_string()) return text->get();
  throw InputError(fmt::format("{}: a number, a text, true or false is needed", where));
}

PartSpec part_spec(const toml::node& node, const std::string& key, const std::string& where) {
  if (const auto* id = node.as_string()) return {id->get()};
  const auto* table = node.as_table();
  HEED_CHECK(table, "{}: '{}' is an id in quotes, or a table {{ id = \"…\", option = … }}", where,
             key);
  const auto* id = table->get_as<std::string>("id");
  HEED_CHECK(id, "{}: the table of '{}' has no id; write {{ id = \"…\", … }}", where, key);
  PartSpec spec{id->get()};
  for (const auto& [name, value] : *table) {
    if (name.str() != "id") spec.options[std::string(name.str())] = option_value(value, where);
  }
  return spec;
}

/// Puts one node into one field, with all checks.
struct Assign {
  const Field& field;
  const toml::node& node;
  const std::string where;
  const Registry& registry;

  [[noreturn]] void wrong(std::string_view needed) const {
    throw InputError(fmt::format("{}: '{}' must be {}", where, field.name, needed));
  }
  void check_range(double number) const {
    HEED_CHECK(number >= field.min && number <= field.max, "{}: '{}' is {}, needed is {} … {}",
               where, field.name, number, field.min, field.max);
  }
  void operator()(std::string* value) const {
    const auto* text = node.as_string();
    const auto* number = node.as_integer();
    if (number && field.section == "task.columns") {  // of a file with a word a line
      *value = fmt::format("{}", number->get());
      return;
    }
    if (!text) wrong("a text in quotes");
    const bool known =
        field.choices.empty() ||
        std::find(field.choices.begin(), field.choices.end(), text->get()) != field.choices.end();
    HEED_CHECK(known, "{}: unknown {} '{}'{}", where, field.name, text->get(),
               suggestion(text->get(), field.choices));
    *value = text->get();
  }
  void operator()(std::int64_t* value) const {
    const auto* whole = node.as_integer();
    if (!whole) wrong("a whole number");
    check_range(static_cast<double>(whole->get()));
    *value = whole->get();
  }
  void operator()(double* value) const {
    const auto number = node.value<double>();
    if (!number || node.is_boolean() || node.is_string()) wrong("a number");
    check_range(*number);
    *value = *number;
  }
  void operator()(bool* value) const {
    const auto* flag = node.as_boolean();
    if (!flag) wrong("true or false");
    *value = flag->get();
  }
  void operator()(const PartField& part) const {
    PartSpec spec = part_spec(node, field.name, where);
    try {
      const PartInfo& info = registry.find_built(part.group, spec.id);
      spec.options = resolve(info, spec.options, field.name);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", where, error.what()));
    }
    *part.spec = std::move(spec);
  }
};

/// Walks one table; `section` is its dotted name.
void read_table(const toml::table& table, const std::string& section, std::vector<Field>& fields,
                const std::string& file, const Registry& registry) {
  std::vector<std::string> known, sections;
  for (const Field& field : fields) {
    if (field.section == section) known.push_back(field.name);
    const bool below = section.empty() || field.section.starts_with(section + ".");
    const std::string rest =
        below ? field.section.substr(section.empty() ? 0 : section.size() + 1) : "";
    if (below && std::find(sections.begin(), sections.end(), rest) == sections.end()) {
      if (rest.find('.') == std::string::npos && !rest.empty()) sections.push_back(rest);
    }
  }
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string where = at(file, key.source());
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& f) {
      return f.section == section && f.name == name;
    });
    if (field != fields.end()) {
      std::visit(Assign{*field, node, where, registry}, field->value);
      continue;
    }
    std::vector<std::string> words = known;
    words.insert(words.end(), sections.begin(), sections.end());
    const bool is_section = std::find(sections.begin(), sections.end(), name) != sections.end();
    HEED_CHECK(is_section, "{}: unknown {} '{}'{}{}", where, section.empty() ? "section" : "key",
               name, section.empty() ? "" : fmt::format(" in [{}]", section),
               suggestion(name, words));
    HEED_CHECK(node.is_table(), "{}: '{}' is a section: write [{}]", where, name,
               section.empty() ? name : section + "." + name);
    read_table(*node.as_table(), section.empty() ? name : section + "." + name, fields, file,
               registry);
  }
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string to_text(const PartSpec& spec) {
  if (spec.options.empty()) return quoted(spec.id);
  std::string result = "{ id = " + quoted(spec.id);
  for (const auto& [name, value] : spec.options) {
    const auto* text = std::get_if<std::string>(&value);
    result += fmt::format(", {} = {}", name, text ? quoted(*text) : heed::to_text(value));
  }
  return result + " }";
}

struct Write {
  std::string operator()(const std::string* value) const { return quoted(*value); }
  std::string operator()(const std::int64_t* value) const { return heed::to_text(*value); }
  std::string operator()(const double* value) const { return heed::to_text(*value); }
  std::string operator()(const bool* value) const { return heed::to_text(*value); }
  std::string operator()(const PartField& part) const { return to_text(*part.spec); }
};

bool is_unset(const Field& field) {
  const auto* text = std::get_if<std::string*>(&field.value);
  return text && (**text).empty();
}

toml::table parse_toml(std::string_view text, const std::string& file) {
  HEED_CHECK(!invalid_utf8(text), "{}: byte {} is not valid UTF-8", file, *invalid_utf8(text));
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}: {}", at(file, error.source()), error.description()));
  }
}

/// `section.key=value` as a table; a bare word needs no quotes.
toml::table parse_change(const std::string& change) {
  const std::size_t equals = change.find('=');
  HEED_CHECK(equals != std::string::npos && equals > 0,
             "--set {}: a key and a value are needed, as in --set train.seed=2", change);
  const std::string key = change.substr(0, equals), value = change.substr(equals + 1);
  const std::string source = "--set " + change;
  try {
    return toml::parse(key + " = " + value, source);
  } catch (const toml::parse_error&) {
    return parse_toml(key + " = " + quoted(std::string(trim(value))), source);
  }
}

void merge(toml::table& into, toml::table&& from) {
  for (auto&& [key, node] : from) {
    toml::table* below = into.get_as<toml::table>(key.str());
    // A part is a table as a whole: `score={id="additive"}` replaces, it does not blend.
    const bool whole = !node.is_table() || node.as_table()->contains("id");
    if (below && !whole) {
      merge(*below, std::move(*node.as_table()));
      continue;
    }
    // An option of a part that was given by its id alone.
    if (const auto* id = into.get_as<std::string>(key.str()); id && !whole)
      node.as_table()->insert("id", id->get());
    into.erase(key.str());  // with where it stood
    into.insert(key, std::move(node));
  }
}

void drop_empty_columns(Config& config) {
  std::erase_if(config.task.source.columns,
                [](const auto& column) { return column.second.empty(); });
}

Config read_config(const toml::table& table, const std::string& file, const Registry& registry) {
  Config config;
  std::vector<Field> fields = config_fields(config);
  if (const auto* task = table.get_as<toml::table>("task");
      task && task->contains("train") && !task->contains("data")) {
    config.task.source.data.clear();  // the default corpus gives way to files
  }
  read_table(table, "", fields, file, registry);
  drop_empty_columns(config);
  return config;
}

}  // namespace

Config parse_config(std::string_view text, const std::string& file, const Registry& registry) {
  return read_config(parse_toml(text, file), file, registry);
}

Config load_config(const std::filesystem::path& file, const Registry& registry,
                   const std::vector<std::string>& changes) {
  const std::string text = read_file(file);
  HEED_CHECK(!trim(text).empty(),
             "{}: the file is empty; a config has [task], [feature], [attention] …", file.string());
  toml::table table = parse_toml(text, file.string());
  for (const std::string& change : changes) merge(table, parse_change(change));
  Config config = read_config(table, file.string(), registry);
  config.task.source.base = std::filesystem::absolute(file).parent_path();
  return config;
}

std::string to_toml(const Config& config) {
  Config copy = config;
  std::string result, section;
  for (const Field& field : config_fields(copy)) {
    if (is_unset(field)) continue;
    if (field.section != section)
      result += fmt::format("{}[{}]\n", result.empty() ? "" : "\n", field.section);
    section = field.section;
    result += fmt::format("{} = {}\n", field.name, std::visit(Write{}, field.value));
  }
  return result;
}

}  // namespace heed
