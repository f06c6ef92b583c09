#include "heed/models/describe.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "heed/base/words.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const PartSpec& spec, Group group) {
  const PartInfo& info = registry().find(group, spec.id);
  Json json{
      {"id", info.id}, {"title", info.title}, {"formula", info.formula}, {"paper", info.paper}};
  Json options = Json::object();
  for (const auto& [name, value] : resolve(info, spec.options, name(group)))
    std::visit([&](const auto& v) { options[name] = v; }, value);
  if (!options.empty()) json["options"] = options;
  return json;
}

Json attention_json(const AttentionSpec& parts, const Mechanism& mechanism) {
  Json json{{"mechanism", to_json(parts.mechanism, Group::mechanism)},
            {"score", to_json(parts.score, Group::score)},
            {"align", to_json(parts.align, Group::align)},
            {"dimensionality", parts.dimensionality.id},
            {"queries", to_json(parts.queries, Group::queries)},
            {"position", parts.position.id}};
  const PartInfo& score = registry().find(Group::score, parts.score.id);
  Json modules = Json::array();
  for (const WiringStep& step : mechanism.wiring()) {
    if (step.name.empty()) {
      json["context"] = step.output;
      continue;
    }
    const PartInfo& own = step.score.empty() ? score : registry().find(Group::score, step.score);
    modules.push_back({{"name", step.name},
                       {"query", step.query},
                       {"keys", step.keys},
                       {"output", step.output},
                       {"time", own.time},
                       {"memory", own.memory}});
    if (step.beside) modules.back()["beside"] = true;
  }
  json["modules"] = std::move(modules);
  json["width"] = mechanism.output_dim();
  return json;
}

std::int64_t count_parameters(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const Tensor& parameter : module.parameters()) count += parameter.numel();
  return count;
}

std::string named(const Json& part) {
  std::string text = part.at("id").get<std::string>();
  if (!part.contains("options")) return text;
  std::vector<std::string> options;
  for (const auto& [name, value] : part["options"].items())
    options.push_back(name + " " + (value.is_string() ? value.get<std::string>() : value.dump()));
  return text + " (" + join(options, ", ") + ")";
}

}  // namespace

Json describe(const Config& config, TaskModel& model) {
  Json json{{"task", {{"kind", config.task.source.kind}, {"data", config.task.source.data}}},
            {"vectors", to_json(config.feature.vectors, Group::vectors)},
            {"feature", {{"id", config.feature.model.id}, {"width", config.feature.dim}}},
            {"query", to_json(config.query, Group::query)},
            {"attention", attention_json(config.attention, model.attention())},
            {"output", to_json(config.output, Group::output)}};
  Json parameters{{"total", model.parameter_count()}};
  for (const auto& child : model.named_children())
    parameters[child.key()] = count_parameters(*child.value());
  json["parameters"] = std::move(parameters);
  return json;
}

MechanismProblem plain_problem(const AttentionSpec& parts, const PartInfo& info,
                               std::int64_t width) {
  MechanismProblem problem{.parts = parts, .query_dim = width, .classes = 2};
  if (info.id == "het-gat") problem.relations = {"first", "second"};
  for (const InputNeed& need : info.takes) {
    const std::string name = !need.name.empty() ? need.name
                             : info.takes.size() == 1
                                 ? (need.edges ? "nodes" : "text")
                                 : fmt::format("input {}", problem.inputs.size() + 1);
    problem.inputs.push_back({.name = name, .dim = width, .levels = need.levels ? 1 : 0});
    if (need.more) problem.inputs.push_back({.name = "another", .dim = width});
  }
  return problem;
}

Json describe(const PartSpec& mechanism, std::int64_t width) {
  const PartInfo& info = registry().find_built(Group::mechanism, mechanism.id);
  const MechanismProblem problem = plain_problem({.mechanism = mechanism}, info, width);
  const auto made = make_mechanism(problem);
  Json json{{"attention", attention_json(problem.parts, *made)}};
  json["parameters"] = {{"attention", count_parameters(*made)}};
  return json;
}

std::string to_table(const Json& d) {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<12}{}\n", name, value);
  };
  const Json& attention = d.at("attention");
  const Json& mechanism = attention.at("mechanism");
  if (d.contains("task")) {
    line("task", fmt::format("{} on {}", d["task"]["kind"].get<std::string>(),
                             d["task"]["data"].get<std::string>()));
    line("vectors", named(d["vectors"]));
    line("features", fmt::format("{}, width {}", d["feature"]["id"].get<std::string>(),
                                 d["feature"]["width"].get<std::int64_t>()));
    line("query", fmt::format("{}: {}", named(d["query"]), d["query"]["title"].get<std::string>()));
  }
  line("mechanism",
       fmt::format("{}: {}, {}", named(mechanism), mechanism["title"].get<std::string>(),
                   mechanism["paper"].get<std::string>()));
  line("score", named(attention["score"]));
  line("alignment", named(attention["align"]));
  line("dimension", attention["dimensionality"].get<std::string>());
  line("queries", named(attention["queries"]));
  line("position", attention["position"].get<std::string>());
  if (!attention["modules"].empty()) {
    text += fmt::format("\n{:<24}{:<24}{:<24}{:<10}{}\n", "module", "asked by", "attends to",
                        "gives", "time of its scores");
    for (const Json& m : attention["modules"]) {
      const auto query = m["query"].get<std::string>();
      text += fmt::format("{:<24}{:<24}{:<24}{:<10}{}\n", m["name"].get<std::string>(),
                          query.empty() ? "nothing" : query, m["keys"].get<std::string>(),
                          m["output"].get<std::string>(), m["time"].get<std::string>());
    }
    text += "\n";
  }
  if (attention.contains("context"))
    line("context", fmt::format("{}, width {}", attention["context"].get<std::string>(),
                                attention["width"].get<std::int64_t>()));
  if (d.contains("output")) line("output", named(d["output"]));
  std::vector<std::string> counts;
  for (const auto& [name, count] : d["parameters"].items())
    counts.push_back(fmt::format("{} {}", name, count.get<std::int64_t>()));
  line("parameters", join(counts, ", "));
  return text;
}

}  // namespace heed
