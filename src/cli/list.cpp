#include <fmt/color.h>
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "heed/attention/registry_json.hpp"
#include "heed/base/words.hpp"
#include "heed/models/task_model.hpp"

namespace heed::cli {
namespace {

struct ListArgs {
  std::string name;
  bool json = false, schema = false;
};

void print_row(const PartInfo& part) {
  const bool planned = part.status == Status::planned;
  fmt::print("  {:<26}{}{}\n", part.id, part.title, planned ? "  (planned)" : "");
}

void print_group(Group group) {
  fmt::print("\n{}  [{}]\n", title(group), name(group));
  std::vector<std::string> families;
  for (const PartInfo& part : registry().parts()) {
    if (part.group == group &&
        std::find(families.begin(), families.end(), part.family) == families.end()) {
      families.push_back(part.family);
    }
  }
  std::sort(families.begin(), families.end());
  for (const std::string& family : families) {
    if (!family.empty()) fmt::print(" {}\n", family);
    for (const PartInfo& part : registry().parts()) {
      if (part.group == group && part.family == family) print_row(part);
    }
  }
}

constexpr std::array kGroups = {
    Group::score,     Group::align,    Group::dimensionality, Group::query,   Group::queries,
    Group::mechanism, Group::position, Group::vectors,        Group::feature, Group::output};

void print_tree() {
  std::size_t built = 0, all = 0;
  for (const PartInfo& part : registry().parts()) {
    if (!in_taxonomy(part.group)) continue;
    ++all;
    built += part.status == Status::built ? 1 : 0;
  }
  fmt::print(
      "Attention mechanisms after Brauwers & Frasincar (2023) and Qiu, NNDL ch. 8: {} parts, {} "
      "built.\n",
      all, built);
  for (const Group group : kGroups) print_group(group);
  fmt::print(
      "\n'heed list ID' shows one part, 'heed list GROUP' one group, --json the taxonomy for "
      "programs.\n");
}

void print_field(const char* name, const std::string& value) {
  if (!value.empty()) fmt::print("  {:<10}{}\n", name, value);
}

void print_part(const PartInfo& part) {
  fmt::print("{}/{}: {}\n", name(part.group), part.id, part.title);
  print_field("formula", part.formula);
  print_field("paper", part.paper);
  print_field("inputs", part.inputs);
  print_field("time", part.time);
  print_field("memory", part.memory);
  print_field("advice", part.advice);
  print_field("fused",
              part.fused.empty() ? "no: reference in plain tensor operations" : part.fused);
  print_field("promises", part.promises);
  print_field("status", part.status == Status::built ? "built" : "planned, not built yet");
  for (const OptionInfo& option : part.options) {
    const std::string choices =
        option.choices.empty() ? "" : " (" + join(option.choices, ", ") + ")";
    fmt::print("  option    {} = {}: {}{}\n", option.name, to_text(option.fallback), option.doc,
               choices);
  }
  if (part.status == Status::built && in_taxonomy(part.group)) {
    const std::string key = part.group == Group::query
                                ? "[query]\n            model"
                                : fmt::format("[attention]\n            {}", name(part.group));
    fmt::print("  config    {} = \"{}\"\n", key, part.id);
  }
}

void run_list(const ListArgs& args) {
  if (args.schema) return fmt::print("{}\n", config_schema(registry()));
  if (args.name.empty()) {
    if (!args.json) return print_tree();
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const PartInfo& part : registry().parts()) {
      if (in_taxonomy(part.group)) all.push_back(to_json(part));
    }
    return fmt::print("{}\n", all.dump(2));
  }
  for (const Group group : kGroups) {
    if (args.name != name(group)) continue;
    if (!args.json) return print_group(group);
    nlohmann::ordered_json some = nlohmann::ordered_json::array();
    for (const PartInfo& part : registry().parts()) {
      if (part.group == group) some.push_back(to_json(part));
    }
    return fmt::print("{}\n", some.dump(2));
  }
  const PartInfo& part = registry().find(args.name);
  if (args.json) return fmt::print("{}\n", to_json(part).dump(2));
  print_part(part);
}

}  // namespace

void add_list(CLI::App& app) {
  CLI::App* command =
      add_command(app, "list", "The taxonomy of attention, or one part of it",
                  "  heed list\n  heed list additive\n  heed list queries/singular\n"
                  "  heed list mechanism\n  heed list --json");
  auto args = std::make_shared<ListArgs>();
  command->add_option("name", args->name, "an id, group/id, or a group");
  command->add_flag("--json", args->json, "for programs");
  command->add_flag("--schema", args->schema, "the JSON schema of configs");
  command->callback([args] { run_list(*args); });
}

}  // namespace heed::cli
