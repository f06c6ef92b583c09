// Do the words with most weight decide? Comprehensiveness and sufficiency (DeYoung et al. 2020),
// and agreement with the words that people marked.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "explain/audit_case.hpp"
#include "heed/base/random.hpp"
#include "heed/explain/importance.hpp"
#include "heed/explain/omit.hpp"
#include "heed/metrics/rationale.hpp"

namespace heed::explain {
namespace {

constexpr double kShares[] = {0.01, 0.05, 0.10, 0.20, 0.50};  // of the words, as ERASER

std::vector<std::size_t> by_importance(const std::vector<double>& importance) {
  std::vector<std::size_t> order(importance.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return importance[a] > importance[b]; });
  return order;
}

/// The examples with only (or without) their most important words, so many of each hundred.
std::vector<Example> reduced(const AuditCase& audited, const Importances& importances, double share,
                             bool keep) {
  std::vector<Example> result;
  for (std::size_t i = 0; i < audited.examples.size(); ++i) {
    const std::vector<std::size_t> order = by_importance(importances[i]);
    const auto count =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(order.size())));
    std::vector<bool> kept(order.size(), !keep);
    for (std::size_t k = 0; k < count; ++k) kept[order[k]] = keep;
    result.push_back(with_only(audited.examples[i], audited.subject.input(), std::move(kept)));
  }
  return result;
}

/// What the class that was predicted loses in probability, for each example.
std::vector<double> loss_of(const AuditCase& audited, const Tensor& whole,
                            const std::vector<Example>& changed) {
  const Tensor label = whole.argmax(1, /*keepdim=*/true);
  const Tensor lost =
      (whole.gather(1, label) - audited.subject.answers(changed).gather(1, label)).squeeze(1);
  std::vector<double> result;
  for (std::int64_t i = 0; i < lost.size(0); ++i) result.push_back(lost[i].item<double>());
  return result;
}

Json faithfulness_of(const AuditCase& audited, const Tensor& whole,
                     const Importances& importances) {
  Json row;
  for (const bool keep : {false, true}) {
    std::vector<double> mean(audited.examples.size(), 0.0);
    Json curve = Json::array();
    for (const double share : kShares) {
      const auto lost = loss_of(audited, whole, reduced(audited, importances, share, keep));
      for (std::size_t i = 0; i < lost.size(); ++i) mean[i] += lost[i] / std::size(kShares);
      curve.push_back({{"share", share}, {"loss", summary(lost)["mean"]}});
    }
    // AOPC: the mean over the shares, as ERASER reports both measures.
    const char* name = keep ? "sufficiency" : "comprehensiveness";
    row[name] = summary(mean);
    row[name]["curve"] = curve;
  }
  return row;
}

Importances random_importance(std::span<const Example> examples, const std::string& input) {
  Random random(1);
  Importances result;
  for (const Example& example : examples) {
    std::vector<double>& row = result.emplace_back(input_length(example, input));
    for (double& x : row) x = random.uniform();
  }
  return result;
}

/// The methods worth comparing on this model; leaving words out is what the measure does itself.
std::vector<std::pair<std::string, Importances>> compared(const AuditCase& audited) {
  std::vector<std::pair<std::string, Importances>> result;
  for (const char* id : {"attention", "gradient", "integrated-gradients", "attention-gradient"})
    result.emplace_back(id, method(id).find(audited.subject, audited.examples));
  if (is_stacked(audited.subject, audited.examples.front()))
    result.emplace_back("rollout", attention_rollout(audited.subject, audited.examples));
  result.emplace_back("random", random_importance(audited.examples, audited.subject.input()));
  return result;
}

/// As many of the heaviest words as people marked.
metrics::Marks heaviest(const std::vector<double>& weights, std::size_t count) {
  metrics::Marks marks(weights.size(), false);
  const std::vector<std::size_t> order = by_importance(weights);
  for (std::size_t k = 0; k < std::min(count, order.size()); ++k) marks[order[k]] = true;
  return marks;
}

Json rationale_row(const Importances& importances, const std::vector<metrics::Weights>& gold) {
  std::vector<metrics::Weights> positive;
  std::vector<metrics::Marks> marked, chosen;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    metrics::Weights& row = positive.emplace_back(importances[i]);
    for (double& x : row) x = std::max(0.0, x);
    metrics::Marks& marks = marked.emplace_back();
    for (const double x : gold[i]) marks.push_back(x > 0);
    chosen.push_back(heaviest(row, static_cast<std::size_t>(std::ranges::count(marks, true))));
  }
  const metrics::Metric share = metrics::correctness(positive, gold);
  return {{"auprc", metrics::auprc(positive, marked).value},
          {"token_f1", metrics::token_f1(chosen, marked).value},
          {"iou_f1", metrics::iou_f1(chosen, marked).value},
          {"correctness", share.value},
          {"tau", share.details.at("tau")},
          {"chance", share.details.at("chance")}};
}

}  // namespace

Json faithfulness_test(const AuditCase& audited) {
  const Tensor whole = audited.subject.answers(audited.examples);
  Json result{{"measure",
               "what the predicted class loses in probability without (comprehensiveness) or with "
               "only (sufficiency) the most important 1, 5, 10, 20 and 50 % of the words, mean"}};
  for (const auto& [id, importances] : compared(audited))
    result["methods"][id] = faithfulness_of(audited, whole, importances);
  return result;
}

Json rationales_test(const AuditCase& audited) {
  std::vector<metrics::Weights> gold;
  for (const Example& example : audited.examples) {
    const auto found = example.gold.find(audited.subject.input());
    if (found == example.gold.end())
      return {{"skipped", "the data does not say which words people find decisive"}};
    gold.emplace_back(found->second.begin(), found->second.end());
  }
  Json result{{"measure",
               "agreement with the marked words; token F1 takes as many of the heaviest "
               "words as are marked"}};
  for (const auto& [id, importances] : compared(audited))
    result["methods"][id] = rationale_row(importances, gold);
  return result;
}

}  // namespace heed::explain
