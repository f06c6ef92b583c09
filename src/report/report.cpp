#include "heed/report/report.hpp"

#include <cmath>
#include <ctime>
#include <numeric>
#include <thread>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "report/parts_json.hpp"
#include "report/run_data.hpp"
#include "report/viewer.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

/// How a metric is shown.
struct MetricText {
  const char* name;
  const char* label;
  const char* unit;
  bool higher_is_better;
};

constexpr MetricText kMetrics[] = {
    {"accuracy", "Test accuracy", "share", true},
    {"f1", "Macro F1", "share", true},
    {"bleu", "BLEU", "", true},
    {"per", "Phoneme error rate", "share", false},
    {"perplexity", "Perplexity", "", false},
    {"exact", "Answers right to the last place", "share", true},
    {"tour", "Length of the round trip", "", false},
    {"area", "Share of the right area", "share", true},
    {"mae", "Mean absolute error", "", false},
    {"hr", "Hit rate at 10", "share", true},
    {"ndcg", "NDCG at 10", "share", true},
    {"aer", "Alignment error rate of the weights", "share", false},
    {"correctness", "Weight on the true rationale", "share", true},
    {"auprc", "AUPRC of the weights for the rationale", "", true},
    {"seconds", "Training time", "s", false},
    {"parameters", "Parameters", "count", false},
};

// What tells this run's variant from others: the mechanism and, where it scores, the score, and
// whatever else differs from the default.
std::string variant_name(const Config& config) {
  const AttentionSpec& a = config.attention;
  const AttentionSpec plain;
  std::string name = a.mechanism.id;
  if (name == "singular") name = a.score.id;
  if (name != "mean-pool" && name != "no-attention") {
    if (a.mechanism.id != "singular") name += " " + a.score.id;
    if (a.align.id != plain.align.id) name += " " + a.align.id;
    if (a.queries.id != plain.queries.id) name += " " + a.queries.id;
  }
  if (config.output.id == "memory") name += " + memory";
  return name;
}

// The config without its seed: runs that agree in it are one variant.
std::string variant_key(Config config) {
  config.train.seed = 0;
  return to_toml(config);
}

VariantMetric summarise(std::vector<double> values) {
  VariantMetric m{.values = std::move(values)};
  const auto n = static_cast<double>(m.values.size());
  m.mean = std::accumulate(m.values.begin(), m.values.end(), 0.0) / n;
  for (const double value : m.values) m.sd += (value - m.mean) * (value - m.mean);
  m.sd = n > 1 ? std::sqrt(m.sd / (n - 1)) : 0;
  return m;
}

std::vector<Variant> group(const std::vector<RunData>& runs,
                           const std::vector<std::string>& names = {}) {
  std::vector<Variant> variants;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string key = names.empty() ? variant_key(runs[i].config) : names.at(i);
    std::size_t v = 0;
    while (v < keys.size() && keys[v] != key) ++v;
    if (v == keys.size()) {
      keys.push_back(key);
      std::string name = names.empty() ? variant_name(runs[i].config) : names[i];
      const auto taken = [&](const std::string& n) {
        return std::any_of(variants.begin(), variants.end(),
                           [&](const Variant& other) { return other.name == n; });
      };
      const std::string base = name;
      for (int k = 2; taken(name); ++k) name = fmt::format("{} ({})", base, k);
      variants.push_back({.name = name});
    }
    variants[v].runs.push_back(i);
  }
  for (Variant& variant : variants) {
    std::map<std::string, std::vector<double>> values;
    for (const std::size_t run : variant.runs) {
      for (const auto& [name, value] : run_metrics(runs[run])) values[name].push_back(value);
    }
    for (auto& [name, list] : values) variant.metrics[name] = summarise(std::move(list));
  }
  return variants;
}

Json variant_json(const Variant& variant, const RunData& run) {
  const PartInfo& mechanism = registry().find(Group::mechanism, run.config.attention.mechanism.id);
  Json metrics = Json::object();
  for (const MetricText& text : kMetrics) {
    const auto found = variant.metrics.find(text.name);
    if (found == variant.metrics.end()) continue;
    const Json& measured = run.test.contains("metrics") ? run.test["metrics"] : Json::object();
    metrics[text.name] = {{"mean", found->second.mean},
                          {"sd", found->second.sd},
                          {"values", found->second.values},
                          {"unit", text.unit},
                          {"higher_is_better", text.higher_is_better},
                          {"label", text.label}};
    if (measured.contains(text.name))
      metrics[text.name]["signature"] = measured[text.name]["signature"];
  }
  return {{"name", variant.name},
          {"mechanism", {{"id", mechanism.id}, {"title", mechanism.title}}},
          {"parts", parts_json(run.config)},
          {"wiring", run.wiring},
          {"metrics", metrics}};
}

/// The table, with how its metric is shown.
Json ablation_json(const std::string& table) {
  Json json = Json::parse(table);
  for (const MetricText& text : kMetrics) {
    if (json["metric"] == text.name) json["unit"] = text.unit;
  }
  return json;
}

std::string utc_now() {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string escape_html(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// Takes the packed weights out of the examples, an element of the page each: a reader then need
/// not parse them to begin. In their place stands the id of the element.
std::string packed_elements(std::vector<RunData>& runs) {
  std::string elements;
  std::size_t count = 0;
  for (RunData& run : runs) {
    for (Json& example : run.examples) {
      if (!example.contains("maps")) continue;
      for (Json& map : example["maps"]) {
        if (!map.contains("packed")) continue;
        const std::string id = fmt::format("heed-packed-{}", ++count);
        elements += fmt::format("<script type=\"text/plain\" id=\"{}\">{}</script>\n", id,
                                escape_html(map["packed"].get<std::string>()));
        map["packed"] = id;
      }
    }
  }
  return elements;
}

std::vector<RunData> read_runs(std::span<const std::filesystem::path> folders,
                               std::size_t max_examples) {
  HEED_CHECK(!folders.empty(), "report: at least one run directory is needed");
  std::vector<RunData> runs;
  for (const auto& folder : folders) runs.push_back(read_run(folder, max_examples));
  const std::string data = runs.front().config.task.source.data;
  for (RunData& run : runs) {
    HEED_CHECK(run.config.task.source.data == data && run.labels == runs.front().labels,
               "report: '{}' and '{}' are runs on different data", runs.front().name, run.name);
    for (const RunData& other : runs) {
      HEED_CHECK(&run == &other || run.name != other.name,
                 "report: two runs are called '{}'; rename one", run.name);
    }
  }
  return runs;
}

// Inside <script> only `<` can end the element or open a comment.
std::string escape_script(const std::string& json) {
  std::string result;
  result.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::vector<Variant> group_runs(std::span<const std::filesystem::path> folders) {
  return group(read_runs(folders, 0));
}

void write_report(std::span<const std::filesystem::path> folders, const std::filesystem::path& out,
                  const ReportOptions& options) {
  std::vector<RunData> runs = read_runs(folders, options.max_examples);
  const std::string packed = packed_elements(runs);
  const std::vector<Variant> variants = group(runs, options.variants);
  const RunData& first = runs.front();
  Json data{{"version", 1},
            {"heed", HEED_VERSION},
            {"title", options.title},
            {"created", utc_now()},
            {"command", options.command},
            {"machine", fmt::format("{} threads", std::thread::hardware_concurrency())},
            {"task",
             {{"kind", first.config.task.source.kind},
              {"data", first.config.task.source.data.empty() ? first.config.task.source.train
                                                             : first.config.task.source.data},
              {"labels", first.labels},
              {"counts", first.test.value("counts", Json::object())}}},
            {"variants", Json::array()},
            {"runs", Json::array()},
            {"summary", options.summary}};
  if (!options.ablation.empty()) data["ablation"] = ablation_json(options.ablation);
  for (const Variant& variant : variants) {
    data["variants"].push_back(variant_json(variant, runs[variant.runs.front()]));
    for (const std::size_t i : variant.runs) {
      data["runs"].push_back({{"name", runs[i].name},
                              {"variant", variant.name},
                              {"seed", runs[i].config.train.seed},
                              {"config", runs[i].toml},
                              {"curve", runs[i].curve},
                              {"best_epoch", runs[i].test.value("best_epoch", 0)},
                              {"audit", runs[i].audit},
                              {"examples", runs[i].examples}});
    }
  }
  const std::string json = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
  html += escape_html(options.title) + "</title>\n<style>" + std::string(viewer_css()) +
          "</style>\n</head>\n<body>\n";
  html +=
      "<div id=\"app\">Reading the report …</div>\n<noscript>This report needs JavaScript; it "
      "makes no request to "
      "anywhere.</noscript>\n";
  html += "<script type=\"application/json\" id=\"heed-data\">" + escape_script(json) +
          "</script>\n<script>";
  html += std::string(viewer_js()) + "</script>\n" + packed + "</body>\n</html>\n";
  write_file(out, html);
}

}  // namespace heed
