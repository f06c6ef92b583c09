// A collected audit in tables and in plain words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "explain/audit_case.hpp"

namespace heed::explain {
namespace {

constexpr double kWeak = 0.4, kStrong = 0.7;  // of Kendall's tau
constexpr double kFar = 0.35;                 // of a divergence that is at most 0.693

const Json* find(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* key : path) {
    const auto next = at->is_object() ? at->find(key) : at->end();
    if (next == at->end()) return nullptr;
    at = &*next;
  }
  return at;
}

double number(const Json& json, std::initializer_list<const char*> path) {
  const Json* found = find(json, path);
  return found && found->is_number() ? found->get<double>() : std::nan("");
}

std::vector<std::pair<std::string, Json>> tests_named(const Json& audit, const std::string& start) {
  std::vector<std::pair<std::string, Json>> result;
  if (const Json* tests = find(audit, {"tests"})) {
    for (const auto& [name, test] : tests->items()) {
      if (name.starts_with(start)) result.emplace_back(name, test);
    }
  }
  return result;
}

std::string interval(const Json& s) {
  if (s.value("count", 0) == 0) return "–";
  return fmt::format("{:.3f} ± {:.3f}   [{:.3f}, {:.3f}]   n = {}", s["mean"].get<double>(),
                     s["sd"].get<double>(), s["low"].get<double>(), s["high"].get<double>(),
                     s["count"].get<int>());
}

void agreement_words(const Json& audit, std::vector<std::string>& says) {
  const double gradient =
      number(audit, {"tests", "agreement", "attention-gradient", "overall", "mean"});
  const double omission =
      number(audit, {"tests", "agreement", "attention-leave-one-out", "overall", "mean"});
  if (std::isnan(gradient) || std::isnan(omission)) return;
  const double least = std::min(gradient, omission);
  const char* judged = least >= kStrong ? "The order of the weights agrees well with"
                       : least >= kWeak ? "The order of the weights agrees in part with"
                                        : "The order of the weights agrees poorly with";
  says.push_back(
      fmt::format("{} the other measures of importance (Kendall's τ {:.2f} with the "
                  "gradient, {:.2f} with leaving words out): {}.",
                  judged, gradient, omission,
                  least >= kStrong ? "it may be read as a ranking of the words"
                                   : "do not read it as a ranking of the words"));
}

void permutation_words(const Json& audit, std::vector<std::string>& says) {
  const double change = number(audit, {"tests", "permutation", "overall", "mean"});
  if (std::isnan(change)) return;
  says.push_back(
      fmt::format("Shuffling the weights changes the output by {:.2f} on average (total "
                  "variation, median of the shuffles of each example): {}.",
                  change,
                  change >= 0.1 ? "which word gets the weight matters to this model"
                                : "the model hardly cares which word gets the weight"));
}

void adversarial_words(const Json& audit, std::vector<std::string>& says) {
  const double distance = number(audit, {"tests", "adversarial", "overall", "mean"});
  if (std::isnan(distance)) return;
  says.push_back(fmt::format(
      "Without changing the output by more than {}, weights can be made to differ from the model's "
      "own by {:.2f} nats on average (0.69 is the most there is): {}. This does not show that a "
      "model could have learnt them: see the trained adversary.",
      number(audit, {"tests", "adversarial", "epsilon"}), distance,
      distance >= kFar ? "the weights are not the only ones that explain the answer"
                       : "few other weights would give the same answer"));
}

void uniform_words(const Json& audit, std::vector<std::string>& says) {
  const double own = number(audit, {"scores", "accuracy"});
  const double uniform = number(audit, {"tests", "uniform", "test", "accuracy"});
  if (std::isnan(own) || std::isnan(uniform)) return;
  // Other seeds of the same model tell how much of a difference is luck.
  double low = own, high = own;
  for (const auto& [name, test] : tests_named(audit, "seed+")) {
    const double score = number(test, {"test", "accuracy"});
    low = std::min(low, score);
    high = std::max(high, score);
  }
  const bool needed = uniform < low - 0.002;
  says.push_back(fmt::format(
      "Trained with uniform weights the model reaches {:.1f} % accuracy, with its attention {:.1f} "
      "% ({:.1f} … {:.1f} % over seeds): {}.",
      100 * uniform, 100 * own, 100 * low, 100 * high,
      needed ? "attention is needed here, so its weights may carry an explanation"
             : "attention is not needed for this task, so its weights explain little"));
}

void diagnostic_words(const Json& audit, std::vector<std::string>& says) {
  const double given = number(audit, {"tests", "mlp-given", "test", "accuracy"});
  const double uniform = number(audit, {"tests", "mlp-uniform", "test", "accuracy"});
  const double own = number(audit, {"tests", "mlp-own", "test", "accuracy"});
  if (std::isnan(given) || std::isnan(uniform)) return;
  says.push_back(fmt::format(
      "A model that sees each word alone reaches {:.1f} % with this model's weights, {:.1f} % with "
      "uniform ones and {:.1f} % with weights it learns: {}.",
      100 * given, 100 * uniform, 100 * own,
      given > uniform + 0.005 ? "the weights hold something about the words that is of use outside "
                                "the model"
                              : "outside the model the weights are of no use"));
}

void adversary_words(const Json& audit, std::vector<std::string>& says) {
  double farthest = std::nan(""), change = 0;
  for (const auto& [name, test] : tests_named(audit, "adversary-")) {
    const double output = number(test, {"output_change", "mean"});
    const double distance = number(test, {"weights_distance", "mean"});
    if (output > 0.1 || (!std::isnan(farthest) && distance <= farthest)) continue;
    farthest = distance;
    change = output;
  }
  if (tests_named(audit, "adversary-").empty()) return;
  if (std::isnan(farthest)) {
    says.emplace_back(
        "No model trained to answer alike with other weights stayed within 0.1 of the output: the "
        "weights are hard to replace.");
    return;
  }
  double seeds = 0;
  const auto others = tests_named(audit, "seed+");
  for (const auto& [name, test] : others)
    seeds += number(test, {"weights_distance", "mean"}) / static_cast<double>(others.size());
  says.push_back(fmt::format(
      "A model trained to answer alike with other weights gets {:.2f} nats away while its output "
      "differs by {:.2f}{}: {}.",
      farthest, change,
      others.empty() ? "" : fmt::format(" (other seeds of the same model differ by {:.2f})", seeds),
      farthest >= kFar ? "a plausible other explanation exists"
                       : "it does not get far: the weights are not arbitrary"));
}

void words_words(const Json& audit, std::vector<std::string>& says) {
  const Json* methods = find(audit, {"tests", "faithfulness", "methods"});
  if (methods) {
    const double own = number(*methods, {"attention", "comprehensiveness", "mean"});
    const double other = number(*methods, {"gradient", "comprehensiveness", "mean"});
    const double random = number(*methods, {"random", "comprehensiveness", "mean"});
    says.push_back(fmt::format(
        "Taking away the words with most weight costs the prediction {:.3f} in probability, those "
        "with the largest gradient {:.3f}, random ones {:.3f}: {}.",
        own, other, random,
        own > 1.5 * random && own > 0 ? "the weights find words that decide"
                                      : "the weights do not find the words that decide"));
  }
  const double auprc = number(audit, {"tests", "rationales", "methods", "attention", "auprc"});
  const double chance = number(audit, {"tests", "rationales", "methods", "attention", "chance"});
  if (!std::isnan(auprc)) {
    says.push_back(fmt::format(
        "Against the words that people marked the weights have an area of {:.2f} under precision "
        "and recall; {:.2f} of the words are marked. That is agreement with people, which a "
        "faithful explanation need not have.",
        auprc, chance));
  }
}

void agreement_table(const Json& agreement, std::string& text) {
  text +=
      "\nKendall's τ between importances (mean ± sd, 95 % interval of the mean; share of "
      "examples with p ≤ 0.05)\n";
  for (const char* pair :
       {"attention-gradient", "attention-leave-one-out", "gradient-leave-one-out"}) {
    const Json& row = agreement[pair];
    text += fmt::format("  {:<26} {}   significant {:.2f}\n", pair, interval(row["overall"]),
                        row["significant"].is_number() ? row["significant"].get<double>() : 0.0);
    if (!row.contains("by_class") || row["by_class"].size() > 6) continue;
    for (const auto& [label, s] : row["by_class"].items())
      text += fmt::format("    {:<24} {}\n", label, interval(s));
  }
}

void weights_table(const Json& test, const std::string& title, std::string& text) {
  text += fmt::format("\n{}: {}\n  {:<26} {}\n", title, test["measure"].get<std::string>(),
                      "overall", interval(test["overall"]));
  for (const Json& row : test["by_greatest_weight"])
    text += fmt::format("  greatest weight {:.2f}–{:.2f}  {}\n",
                        row["greatest_weight_from"].get<double>(), row["to"].get<double>(),
                        interval(row));
}

void models_table(const Json& audit, std::string& text) {
  std::string rows;
  for (const auto& [name, test] : audit["tests"].items()) {
    if (!test.contains("test")) continue;
    rows += fmt::format("  {:<16} {:>8.1f} %", name, 100 * number(test, {"test", "accuracy"}));
    if (test.contains("output_change"))
      rows +=
          fmt::format("   output {:.3f}   weights {:.3f}", number(test, {"output_change", "mean"}),
                      number(test, {"weights_distance", "mean"}));
    rows += "\n";
  }
  if (rows.empty()) return;
  text += fmt::format(
      "\nOther models: accuracy; distance from this one (output: total variation, weights: "
      "Jensen-Shannon in nats)\n  {:<16} {:>8.1f} %\n",
      "this model", 100 * number(audit, {"scores", "accuracy"}));
  text += rows;
}

void words_table(const Json& audit, std::string& text) {
  if (const Json* methods = find(audit, {"tests", "faithfulness", "methods"})) {
    text +=
        "\nLoss of the prediction without the heaviest words (comprehensiveness) and with only "
        "those (sufficiency)\n";
    for (const auto& [id, row] : methods->items())
      text += fmt::format("  {:<22} {:>7.3f} {:>7.3f}\n", id,
                          number(row, {"comprehensiveness", "mean"}),
                          number(row, {"sufficiency", "mean"}));
  }
  if (const Json* methods = find(audit, {"tests", "rationales", "methods"})) {
    text += "\nAgreement with the words people marked: AUPRC, token F1, share of the weight\n";
    for (const auto& [id, row] : methods->items())
      text += fmt::format("  {:<22} {:>7.3f} {:>7.3f} {:>7.3f}\n", id, number(row, {"auprc"}),
                          number(row, {"token_f1"}), number(row, {"correctness"}));
  }
}

}  // namespace

std::vector<std::string> verdict(const Json& audit) {
  std::vector<std::string> says;
  uniform_words(audit, says);
  agreement_words(audit, says);
  permutation_words(audit, says);
  adversarial_words(audit, says);
  adversary_words(audit, says);
  diagnostic_words(audit, says);
  words_words(audit, says);
  says.emplace_back(
      "None of these tests shows why the model answered as it did: they show how far its weights "
      "could be otherwise, and how far they agree with other measures.");
  return says;
}

std::string readable_audit(const std::string& audit_json) {
  const Json audit = Json::parse(audit_json);
  std::string text = fmt::format(
      "Audit of {} on {} examples of the {} part\n", audit["run"].get<std::string>(),
      audit["options"]["examples"].get<int>(), audit["options"]["split"].get<std::string>());
  if (const Json* test = find(audit, {"tests", "agreement"})) agreement_table(*test, text);
  if (const Json* test = find(audit, {"tests", "permutation"}))
    weights_table(*test, "Permuted weights", text);
  if (const Json* test = find(audit, {"tests", "adversarial"}))
    weights_table(*test, "Adversarial weights", text);
  words_table(audit, text);
  if (audit.contains("tests")) models_table(audit, text);
  text += "\nWhat this allows one to say\n";
  for (const Json& line : audit["verdict"]) text += "  - " + line.get<std::string>() + "\n";
  return text;
}

}  // namespace heed::explain
