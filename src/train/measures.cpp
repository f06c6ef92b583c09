// What each kind of task is measured by.
#include <algorithm>
#include <set>

#include "heed/base/error.hpp"
#include "heed/metrics/classification.hpp"
#include "heed/metrics/rationale.hpp"
#include "heed/train/evaluation.hpp"
#include "train/measures.hpp"
#include "train/number_measures.hpp"
#include "train/ranking_measures.hpp"

namespace heed {
namespace {

using metrics::Metric;
using Examples = std::span<const Example>;

void add_rationale_metrics(Examples examples, const Evaluation& evaluation,
                           std::vector<Metric>& result) {
  std::vector<metrics::Weights> weights, gold;
  std::vector<metrics::Marks> marks;
  bool unmarked = false;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Prediction& prediction = evaluation.predictions[i];
    for (const auto& [input, human] : examples[i].gold) {
      // Of several inputs of the same length, a map of one says nothing of another.
      if (examples[i].gold.size() > 1 &&
          std::ranges::find(prediction.maps, input, &TraceMap::key_input) == prediction.maps.end())
        continue;
      metrics::Weights found = token_weights(prediction, human.size(), input);
      if (found.empty()) continue;
      weights.push_back(std::move(found));
      gold.emplace_back(human.begin(), human.end());
      metrics::Marks& marked = marks.emplace_back();
      for (const float weight : human) marked.push_back(weight > 0);
      unmarked = unmarked || std::ranges::count(marked, false) > 0;
    }
  }
  if (weights.empty()) return;
  result.push_back(metrics::correctness(weights, gold));
  if (unmarked) result.push_back(metrics::auprc(weights, marks));
}

std::vector<Metric> measure_labels(const LoadedRun& run, Examples examples,
                                   const Evaluation& evaluation) {
  std::vector<std::string> predicted, gold;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    HEED_CHECK(!examples[i].label.empty(), "example '{}' has no label to measure against",
               examples[i].id);
    predicted.push_back(run.info.labels.at(evaluation.predictions[i].label));
    gold.push_back(examples[i].label);
  }
  return {metrics::accuracy(predicted, gold),
          metrics::f1(predicted, gold, {.labels = run.info.labels})};
}

using Measure = std::vector<Metric> (*)(const LoadedRun&, Examples, const Evaluation&);

/// Kinds that answer with something else than a label: one line a kind.
const std::map<std::string, Measure>& other_measures() {
  static const std::map<std::string, Measure> table = {
      {"translate", measure_translations},
      {"point", measure_points},
      {"count", measure_numbers},
      {"recommend", measure_rankings},
  };
  return table;
}

}  // namespace

std::vector<Metric> measure(const LoadedRun& run, Examples examples, const Evaluation& evaluation) {
  const auto other = other_measures().find(run.config.task.source.kind);
  std::vector<Metric> result =
      (other == other_measures().end() ? measure_labels : other->second)(run, examples, evaluation);
  add_rationale_metrics(examples, evaluation, result);
  return result;
}

bool more_is_better(const Metric& metric) {
  static const std::set<std::string> kErrors = {"perplexity", "wer", "per", "aer", "mae", "tour"};
  return !kErrors.contains(metric.name);
}

}  // namespace heed
