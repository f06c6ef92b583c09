#include "heed/metrics/rationale.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "heed/base/error.hpp"
#include "heed/metrics/rank.hpp"
#include "metrics/segments.hpp"

namespace heed::metrics {
namespace {

constexpr double kFloor = 1e-12;  // keeps KL finite where a gold token got no weight

template <class A, class B>
void check_shapes(const char* who, std::span<const A> predicted, std::span<const B> gold) {
  HEED_CHECK(predicted.size() == gold.size(), "{}: {} predicted documents but {} gold ones", who,
             predicted.size(), gold.size());
  for (std::size_t i = 0; i < gold.size(); ++i) {
    HEED_CHECK(predicted[i].size() == gold[i].size(),
               "{}: document {} has {} predicted tokens but {} gold ones", who, i + 1,
               predicted[i].size(), gold[i].size());
  }
}

void check_weights(const char* who, std::span<const Weights> documents) {
  for (std::size_t i = 0; i < documents.size(); ++i) {
    for (const double weight : documents[i]) {
      HEED_CHECK(std::isfinite(weight) && weight >= 0,
                 "{}: document {} has the weight {}; finite weights of at least 0 are needed", who,
                 i + 1, weight);
    }
  }
}

struct Span {
  std::size_t start, end;
};

std::vector<Span> runs(const Marks& marks) {
  std::vector<Span> spans;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!marks[i]) continue;
    if (i == 0 || !marks[i - 1]) spans.push_back({i, i});
    spans.back().end = i + 1;
  }
  return spans;
}

double overlap(Span a, Span b) {
  const std::size_t start = std::max(a.start, b.start), end = std::min(a.end, b.end);
  if (start >= end) return 0;
  return static_cast<double>(end - start) /
         static_cast<double>(std::max(a.end, b.end) - std::min(a.start, b.start));
}

struct Curve {
  double trapezoids = 0, steps = 0, roc = 0;
};

// Walks down the weights; tokens of equal weight enter together, since no threshold parts them.
Curve walk(const Weights& weights, const Marks& gold) {
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t i, std::size_t j) { return weights[i] > weights[j]; });
  const auto positives = static_cast<double>(std::ranges::count(gold, true));
  const double negatives = static_cast<double>(gold.size()) - positives;
  Curve curve;
  double found = 0, last_precision = 1, last_found = 0, last_false = 0;
  for (std::size_t i = 0; i < order.size();) {
    const double weight = weights[order[i]];
    for (; i < order.size() && weights[order[i]] == weight; ++i) found += gold[order[i]] ? 1 : 0;
    const double wrong = static_cast<double>(i) - found;
    const double precision = found / static_cast<double>(i);
    const double gained = (found - last_found) / positives;
    curve.trapezoids += gained * (precision + last_precision) / 2;
    curve.steps += gained * precision;
    curve.roc += ratio((wrong - last_false) * (found + last_found) / 2, positives * negatives);
    last_precision = precision, last_found = found, last_false = wrong;
  }
  return curve;
}

}  // namespace

Metric token_f1(std::span<const Marks> predicted, std::span<const Marks> gold) {
  check_shapes("token-f1", predicted, gold);
  SegmentSums sums(7);  // documents, precision, recall, F1, common, predicted, gold
  for (std::size_t i = 0; i < gold.size(); ++i) {
    double common = 0, marked = 0, wanted = 0;
    for (std::size_t t = 0; t < gold[i].size(); ++t) {
      common += predicted[i][t] && gold[i][t];
      marked += predicted[i][t];
      wanted += gold[i][t];
    }
    const double p = ratio(common, marked), r = ratio(common, wanted);
    sums.add({marked + wanted > 0 ? 1.0 : 0.0, p, r, harmonic(p, r), common, marked, wanted});
  }
  Metric metric{.name = "token-f1"};
  metric.signature = signature("token-f1", {{"average", "documents"}, {"zero", "0"}});
  const std::vector<double> t = sums.total();
  metric.details = {{"precision", ratio(t[1], t[0])},
                    {"recall", ratio(t[2], t[0])},
                    {"micro_precision", ratio(t[4], t[5])},
                    {"micro_recall", ratio(t[4], t[6])},
                    {"micro_f1", ratio(2 * t[4], t[5] + t[6])},
                    {"count", t[0]},
                    {"skipped", static_cast<double>(gold.size()) - t[0]}};
  finish(metric, std::move(sums), [](std::span<const double> s) { return ratio(s[3], s[0]); });
  return metric;
}

Metric iou_f1(std::span<const Marks> predicted, std::span<const Marks> gold, double threshold) {
  check_shapes("iou-f1", predicted, gold);
  HEED_CHECK(threshold > 0 && threshold <= 1, "iou-f1: threshold {} is not in (0, 1]", threshold);
  SegmentSums sums(
      7);  // found, predicted, gold spans; documents and rates by predicted and by gold
  for (std::size_t i = 0; i < gold.size(); ++i) {
    const std::vector<Span> spans = runs(predicted[i]), wanted = runs(gold[i]);
    const auto found = static_cast<double>(std::ranges::count_if(spans, [&](Span span) {
      return std::ranges::any_of(wanted, [&](Span w) { return overlap(span, w) >= threshold; });
    }));
    const auto given = static_cast<double>(spans.size()),
               asked = static_cast<double>(wanted.size());
    sums.add({found, given, asked, given > 0 ? 1.0 : 0.0, ratio(found, given),
              asked > 0 ? 1.0 : 0.0, ratio(found, asked)});
  }
  const std::vector<double> t = sums.total();
  const double micro_p = ratio(t[0], t[1]), micro_r = ratio(t[0], t[2]);
  Metric metric{.name = "iou-f1"};
  metric.signature = signature(
      "iou-f1",
      {{"average", "documents"}, {"threshold", fmt::format("{}", threshold)}, {"zero", "0"}});
  metric.details = {{"precision", ratio(t[4], t[3])},
                    {"recall", ratio(t[6], t[5])},
                    {"micro_precision", micro_p},
                    {"micro_recall", micro_r},
                    {"micro_f1", harmonic(micro_p, micro_r)},
                    {"predicted_spans", t[1]},
                    {"gold_spans", t[2]}};
  finish(metric, std::move(sums),
         [](std::span<const double> s) { return harmonic(ratio(s[4], s[3]), ratio(s[6], s[5])); });
  return metric;
}

Metric auprc(std::span<const Weights> predicted, std::span<const Marks> gold) {
  check_shapes("auprc", predicted, gold);
  check_weights("auprc", predicted);
  SegmentSums sums(5);  // documents, trapezoids, documents with both classes, steps, ROC
  for (std::size_t i = 0; i < gold.size(); ++i) {
    const bool any = std::ranges::count(gold[i], true) > 0;
    const bool both = any && std::ranges::count(gold[i], false) > 0;
    const Curve curve = any ? walk(predicted[i], gold[i]) : Curve{};
    sums.add({any ? 1.0 : 0.0, curve.trapezoids, both ? 1.0 : 0.0, both ? curve.steps : 0.0,
              both ? curve.roc : 0.0});
  }
  const std::vector<double> t = sums.total();
  Metric metric{.name = "auprc"};
  metric.signature = signature("auprc", {{"area", "trapezoid"}, {"average", "documents"}});
  metric.details = {{"average_precision", ratio(t[3], t[2])},
                    {"roc_auc", ratio(t[4], t[2])},
                    {"count", t[0]},
                    {"skipped", static_cast<double>(gold.size()) - t[0]}};
  finish(metric, std::move(sums), [](std::span<const double> s) { return ratio(s[1], s[0]); });
  return metric;
}

Metric correctness(std::span<const Weights> predicted, std::span<const Weights> gold) {
  check_shapes("correctness", predicted, gold);
  check_weights("correctness", predicted);
  check_weights("correctness", gold);
  SegmentSums sums(7);  // documents, inside, chance, KL, ranked, tau, rho
  for (std::size_t i = 0; i < gold.size(); ++i) {
    const Weights &weights = predicted[i], &wanted = gold[i];
    const double wanted_total = std::reduce(wanted.begin(), wanted.end());
    if (wanted_total == 0) {
      sums.add({0, 0, 0, 0, 0, 0, 0});
      continue;
    }
    const double total = std::reduce(weights.begin(), weights.end());
    const auto length = static_cast<double>(wanted.size());
    double inside = 0, region = 0, divergence = 0;
    for (std::size_t t = 0; t < wanted.size(); ++t) {
      if (wanted[t] == 0) continue;
      const double share = wanted[t] / wanted_total;
      const double own = (ratio(weights[t], total) + kFloor) / ((total > 0) + length * kFloor);
      inside += weights[t];
      region += 1;
      divergence += share * std::log(share / own);
    }
    const auto tau = kendall_tau(weights, wanted), rho = spearman_rho(weights, wanted);
    sums.add({1, ratio(inside, total), region / length, divergence, tau ? 1.0 : 0.0,
              tau.value_or(0), rho.value_or(0)});
  }
  const std::vector<double> t = sums.total();
  Metric metric{.name = "correctness"};
  metric.signature =
      signature("correctness", {{"average", "documents"}, {"kl", "gold-predicted+1e-12"}});
  metric.details = {{"chance", ratio(t[2], t[0])},
                    {"kl", ratio(t[3], t[0])},
                    {"tau", ratio(t[5], t[4])},
                    {"rho", ratio(t[6], t[4])},
                    {"ranked", t[4]},
                    {"count", t[0]},
                    {"skipped", static_cast<double>(gold.size()) - t[0]}};
  finish(metric, std::move(sums), [](std::span<const double> s) { return ratio(s[1], s[0]); });
  return metric;
}

}  // namespace heed::metrics
