#include "heed/explain/audit.hpp"

#include <algorithm>
#include <cmath>

#include "explain/audit_case.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/json_text.hpp"
#include "heed/base/words.hpp"
#include "heed/data/split.hpp"
#include "heed/train/evaluation.hpp"

namespace heed::explain {
namespace {

namespace fs = std::filesystem;

using Test = std::function<Json(const AuditCase&)>;

/// The tests by name, in the table's order.
std::vector<std::pair<std::string, Test>> named_tests(const AuditOptions& options,
                                                      std::int64_t seed) {
  std::vector<std::pair<std::string, Test>> tests = {{"agreement", agreement_test},
                                                     {"permutation", permutation_test},
                                                     {"adversarial", adversarial_test},
                                                     {"faithfulness", faithfulness_test},
                                                     {"rationales", rationales_test}};
  if (!options.retrain) return tests;
  tests.emplace_back("uniform", uniform_test);
  for (std::int64_t i = 1; i <= options.seeds; ++i) {
    tests.emplace_back(fmt::format("seed+{}", i),
                       [=](const AuditCase& audited) { return seed_test(audited, seed + i); });
  }
  for (const char* weights : {"own", "uniform", "given"}) {
    tests.emplace_back(fmt::format("mlp-{}", weights), [weights](const AuditCase& audited) {
      return diagnostic_test(audited, weights);
    });
  }
  for (const double lambda : options.lambdas) {
    tests.emplace_back(fmt::format("adversary-{}", lambda), [lambda](const AuditCase& audited) {
      return adversary_test(audited, lambda);
    });
  }
  return tests;
}

/// What a result depends on beside the run: it is not used again when this differs.
Json made_with(const AuditOptions& options) {
  return {{"input", options.input},
          {"split", options.split},
          {"examples", options.examples},
          {"permutations", options.permutations},
          {"epsilon", options.epsilon}};
}

fs::path result_file(const fs::path& run, const std::string& test) {
  return run / "audit" / (test + ".json");
}

/// The result that is there, from the same options and weights; null: none.
Json result_of(const fs::path& run, const std::string& test, const AuditOptions& options) {
  const fs::path file = result_file(run, test);
  if (!fs::exists(file)) return nullptr;
  const std::string text = read_file(file);
  const Json json = Json::parse(shallow_json(text), nullptr, /*allow_exceptions=*/false);
  const bool same = json.is_object() && json.value("made_with", Json()) == made_with(options);
  return same ? json : Json(nullptr);
}

std::vector<Example> audited_examples(const LoadedRun& run, const AuditOptions& options) {
  std::vector<Example> seen =
      run.info.seen(load_split(run.config.task.source, options.split, "explain"));
  if (static_cast<std::int64_t>(seen.size()) > options.examples)
    seen.resize(static_cast<std::size_t>(options.examples));
  return seen;
}

double accuracy_of(const Json& metrics) {
  return metrics.contains("accuracy") ? metrics["accuracy"]["value"].get<double>() : std::nan("");
}

/// The run's own scores, from the last line of its metrics.
Json own_scores(const fs::path& run) {
  const std::vector<std::string> lines =
      split(std::string(trim(read_file(RunFiles{run}.metrics()))), '\n');
  const Json last = Json::parse(shallow_json(lines.back()), nullptr, /*allow_exceptions=*/false);
  HEED_CHECK(last.is_object() && last.contains("metrics"),
             "{}: the run is not finished; 'heed train … --resume' goes on with it", run.string());
  return {{"accuracy", accuracy_of(last["metrics"])}};
}

}  // namespace

Json summary(const std::vector<double>& values) {
  std::vector<double> known;
  std::ranges::copy_if(values, std::back_inserter(known), [](double x) { return !std::isnan(x); });
  if (known.empty()) return {{"count", 0}};
  const auto n = static_cast<double>(known.size());
  double mean = 0, squares = 0;
  for (const double x : known) mean += x / n;
  for (const double x : known) squares += (x - mean) * (x - mean);
  const double sd = known.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  const double half = 1.96 * sd / std::sqrt(n);
  return {{"count", known.size()},
          {"mean", mean},
          {"sd", sd},
          {"low", mean - half},
          {"high", mean + half}};
}

std::vector<std::size_t> predicted_classes(const AuditCase& audited) {
  const Tensor best = audited.subject.answers(audited.examples).argmax(1);
  std::vector<std::size_t> classes;
  for (std::int64_t i = 0; i < best.size(0); ++i)
    classes.push_back(static_cast<std::size_t>(best[i].item<std::int64_t>()));
  return classes;
}

Json by_class(const AuditCase& audited, const std::vector<double>& values) {
  Json result{{"overall", summary(values)}};
  const std::vector<std::size_t> classes = predicted_classes(audited);
  const std::vector<std::string>& labels = audited.subject.labels();
  for (std::size_t label = 0; label < labels.size(); ++label) {
    std::vector<double> own;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (classes[i] == label) own.push_back(values[i]);
    }
    if (!own.empty()) result["by_class"][labels[label]] = summary(own);
  }
  return result;
}

std::vector<std::string> audit_tests(const AuditOptions& options) {
  std::vector<std::string> names;
  for (const auto& [name, test] : named_tests(options, 0)) names.push_back(name);
  return names;
}

bool is_audited(const fs::path& run, const std::string& test, const AuditOptions& options) {
  return !result_of(run, test, options).is_null();
}

void run_audit_test(const fs::path& run, const std::string& test, const AuditOptions& options) {
  if (is_audited(run, test, options)) return;
  const LoadedRun loaded = load(run);
  const auto tests = named_tests(options, loaded.config.train.seed);
  const auto found = std::ranges::find_if(tests, [&](const auto& t) { return t.first == test; });
  HEED_CHECK(found != tests.end(), "explain: there is no test '{}'{}", test,
             suggestion(test, audit_tests(options)));
  const std::vector<Example> examples = audited_examples(loaded, options);
  const Subject subject(loaded, examples.front(), options.input);
  make_writable_folder(run / "audit");
  Json result = found->second(
      {.subject = subject, .examples = examples, .options = options, .folder = run / "audit"});
  result["made_with"] = made_with(options);
  write_file(result_file(run, test), result.dump(1) + "\n");
}

std::string collect_audit(const fs::path& run, const AuditOptions& options) {
  Json audit{{"run", run.filename().string()},
             {"options", made_with(options)},
             {"scores", own_scores(run)}};
  for (const std::string& test : audit_tests(options)) {
    Json result = result_of(run, test, options);
    if (result.is_null()) continue;
    result.erase("made_with");
    audit["tests"][test] = std::move(result);
  }
  audit["verdict"] = verdict(audit);
  const std::string text = audit.dump(1) + "\n";
  write_file(run / "audit" / "audit.json", text);
  return text;
}

}  // namespace heed::explain
