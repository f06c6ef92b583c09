// What each kind of task is measured by.
#include <algorithm>
#include <numeric>
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

/// What people marked, and what a model weighs of the same places.
struct Agreement {
  metrics::Weights found, gold;
};

/// Of an input's words; of its sentences where attention is over those. Empty: of neither.
Agreement agreement(const Prediction& prediction, const Example& example, const std::string& input,
                    const std::vector<float>& human) {
  Agreement result{.found = token_weights(prediction, example, input, human.size()),
                   .gold = {human.begin(), human.end()}};
  const auto levels = example.levels.find(input);
  if (!result.found.empty() || levels == example.levels.end() || levels->second.empty())
    return result;
  const std::vector<std::int64_t>& sentences = levels->second.front();
  result.found = token_weights(prediction, example, input, sentences.size());
  auto word = human.begin();
  result.gold.clear();
  for (const std::int64_t size : sentences) {
    result.gold.push_back(std::accumulate(word, word + size, 0.0));
    word += size;
  }
  return result;
}

void add_rationale_metrics(Examples examples, const Evaluation& evaluation,
                           std::vector<Metric>& result) {
  std::vector<metrics::Weights> weights, gold;
  std::vector<metrics::Marks> marks;
  bool graded = false, unmarked = false;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Prediction& prediction = evaluation.predictions[i];
    for (const auto& [input, human] : examples[i].gold) {
      // Of several inputs of the same length, a map of one says nothing of another.
      if (examples[i].gold.size() > 1 &&
          std::ranges::find(prediction.maps, input, &TraceMap::key_input) == prediction.maps.end())
        continue;
      Agreement here = agreement(prediction, examples[i], input, human);
      if (here.found.empty()) continue;
      graded =
          graded || std::ranges::any_of(here.gold, [&](double w) { return w != here.gold[0]; });
      metrics::Marks& marked = marks.emplace_back();
      for (const double weight : here.gold) marked.push_back(weight > 0);
      unmarked = unmarked || std::ranges::count(marked, false) > 0;
      weights.push_back(std::move(here.found));
      gold.push_back(std::move(here.gold));
    }
  }
  if (!graded) return;
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
