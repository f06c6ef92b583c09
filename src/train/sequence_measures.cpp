// Measures of tasks that answer with a sequence.
#include <algorithm>
#include <charconv>
#include <optional>

#include "heed/base/error.hpp"
#include "heed/data/geometry.hpp"
#include "heed/metrics/alignment.hpp"
#include "heed/metrics/bleu.hpp"
#include "heed/metrics/classification.hpp"
#include "heed/metrics/error_rate.hpp"
#include "heed/metrics/perplexity.hpp"
#include "metrics/segments.hpp"
#include "train/measures.hpp"

namespace heed {
namespace {

using metrics::Metric;

/// What was answered and what is right, as text.
struct Texts {
  std::vector<std::string> answers, right;
};

Texts texts_of(const LoadedRun& run, std::span<const Example> examples,
               const Evaluation& evaluation) {
  Texts texts;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    HEED_CHECK(!examples[i].target.empty(), "example '{}' has no answer to measure against",
               examples[i].id);
    texts.answers.push_back(written(evaluation.predictions[i].sequence, run.info.segmenter.get()));
    texts.right.push_back(written(examples[i].target, run.info.segmenter.get()));
  }
  return texts;
}

Metric exact(const Texts& texts) {
  Metric metric = metrics::accuracy(texts.answers, texts.right);
  metric.name = "exact";
  return metric;
}

/// Each word that was written, linked to the word it was looked at most for: by the last map that
/// the answer asked of the text, all heads together.
metrics::Alignment alignment_of(const Prediction& prediction, const std::string& input) {
  metrics::Alignment alignment;
  for (auto map = prediction.maps.rbegin(); map != prediction.maps.rend(); ++map) {
    if (map->query_input != "target" || map->key_input != input) continue;
    const Tensor best = map->weights.mean(0).argmax(-1);
    for (std::size_t t = 0; t < prediction.sequence.size(); ++t)
      alignment.sure.push_back({.source = static_cast<std::uint32_t>(
                                    best[static_cast<std::int64_t>(t)].item<std::int64_t>()),
                                .target = static_cast<std::uint32_t>(t)});
    break;
  }
  std::ranges::sort(alignment.sure);
  return alignment;
}

/// Attention as word alignment, of the answers that are right: the gold links are of these words.
std::optional<Metric> alignment_error(const LoadedRun& run, std::span<const Example> examples,
                                      const Evaluation& evaluation) {
  std::vector<metrics::Alignment> ours, gold;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Prediction& prediction = evaluation.predictions[i];
    if (examples[i].links.empty() || prediction.sequence != examples[i].target) continue;
    ours.push_back(alignment_of(prediction, run.info.inputs.front().name));
    if (ours.back().sure.empty()) return {};
    metrics::Alignment& right = gold.emplace_back();
    for (const auto& [target, source] : examples[i].links)
      right.sure.push_back({.source = static_cast<std::uint32_t>(source),
                            .target = static_cast<std::uint32_t>(target)});
    std::ranges::sort(right.sure);
  }
  if (ours.empty()) return {};
  return metrics::aer(ours, gold);
}

std::vector<std::size_t> places_of(std::span<const std::string> words) {
  std::vector<std::size_t> places;
  for (const std::string& word : words) {
    std::size_t place = 0;
    std::from_chars(word.data(), word.data() + word.size(), place);
    places.push_back(place);
  }
  return places;
}

std::vector<std::size_t> completed(std::vector<std::size_t> places, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (std::ranges::find(places, i) == places.end()) places.push_back(i);
  }
  return places;
}

/// The mean of one number an example, which can be resampled.
Metric mean_metric(const std::string& name, metrics::Parameters parameters,
                   std::span<const double> values) {
  Metric metric{.name = name, .signature = metrics::signature(name, parameters)};
  metrics::SegmentSums sums(2);
  for (const double value : values) sums.add({value, 1});
  metrics::finish(metric, std::move(sums),
                  [](std::span<const double> t) { return metrics::ratio(t[0], t[1]); });
  return metric;
}

Metric tour(std::span<const Example> examples, const Evaluation& evaluation) {
  double optimal = 0, complete = 0;
  std::vector<double> lengths;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const std::vector<Point> points = points_of(examples[i]);
    const auto answer = places_of(evaluation.predictions[i].sequence);
    complete += answer.size() == points.size();
    lengths.push_back(tour_length(points, completed(answer, points.size())));
    optimal += tour_length(points, places_of(examples[i].target));
  }
  const auto n = static_cast<double>(examples.size());
  Metric metric = mean_metric("tour", {{"incomplete", "rest in order"}}, lengths);
  metric.details = {{"right", optimal / n}, {"complete", complete / n}};
  return metric;
}

Metric area(std::span<const Example> examples, const Evaluation& evaluation) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const std::vector<Point> points = points_of(examples[i]);
    shares.push_back(
        metrics::ratio(polygon_area(points, places_of(evaluation.predictions[i].sequence)),
                       polygon_area(points, places_of(examples[i].target)), 1));
  }
  return mean_metric("area", {{"average", "mean"}}, shares);
}

}  // namespace

std::vector<Metric> measure_translations(const LoadedRun& run, std::span<const Example> examples,
                                         const Evaluation& evaluation) {
  const Texts texts = texts_of(run, examples, evaluation);
  const std::vector<std::vector<std::string>> references = {texts.right};
  std::vector<std::vector<double>> log_probs;
  for (const Prediction& prediction : evaluation.predictions)
    log_probs.push_back(prediction.log_probs);
  const bool speech = run.info.inputs.front().width > 0;
  std::vector<Metric> result = {
      speech ? metrics::per(texts.answers, references) : metrics::bleu(texts.answers, references),
      metrics::perplexity(log_probs), exact(texts)};
  // Links count words: of subwords there are none, and a phoneme has many frames, of which the
  // weights need not choose all.
  if (!run.info.segmenter && !speech) {
    if (auto error = alignment_error(run, examples, evaluation)) result.push_back(*error);
  }
  return result;
}

std::vector<Metric> measure_points(const LoadedRun& run, std::span<const Example> examples,
                                   const Evaluation& evaluation) {
  const Texts texts = texts_of(run, examples, evaluation);
  const bool plane = run.info.inputs.front().width == 2;
  const bool all = std::ranges::all_of(examples, [](const Example& example) {
    return example.target.size() == input_length(example, "points");
  });
  if (!plane) return {exact(texts)};
  if (all) return {tour(examples, evaluation), exact(texts)};
  return {exact(texts), area(examples, evaluation)};
}

}  // namespace heed
