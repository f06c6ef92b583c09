#include "heed/metrics/classification.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed::metrics {
namespace {

constexpr std::size_t kShownClasses = 1000;

struct Scores {
  double precision = 0, recall = 0, f1 = 0;
};

struct Counts {
  std::vector<double> right, predicted, gold;

  explicit Counts(std::size_t classes) : right(classes), predicted(classes), gold(classes) {}

  Scores of(std::size_t c) const {
    return {.precision = ratio(right[c], predicted[c]),
            .recall = ratio(right[c], gold[c]),
            .f1 = ratio(2 * right[c], predicted[c] + gold[c])};
  }
};

/// Labels as numbers in the order of their names.
struct Coded {
  std::vector<std::string> names;
  std::vector<std::uint32_t> predicted, gold;
  std::vector<bool> named;  ///< by label: asked for, so it counts even where it does not occur
  std::size_t positive = 0;
};

void check_lengths(std::size_t predicted, std::size_t gold) {
  HEED_CHECK(predicted == gold, "{} predicted labels but {} gold labels; one of each is needed",
             predicted, gold);
}

Coded encode(std::span<const std::string> predicted, std::span<const std::string> gold,
             const ClassificationOptions& options) {
  check_lengths(predicted.size(), gold.size());
  Coded coded;
  auto& names = coded.names;
  names.assign(gold.begin(), gold.end());
  names.insert(names.end(), predicted.begin(), predicted.end());
  names.insert(names.end(), options.labels.begin(), options.labels.end());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto code = [&](const std::string& label) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(names, label) - names.begin());
  };
  if (options.average == Average::binary && !names.empty()) {
    coded.positive = code(options.positive);
    HEED_CHECK(coded.positive < names.size() && names[coded.positive] == options.positive,
               "the positive label '{}' does not occur{}", options.positive,
               suggestion(options.positive, names));
  }
  coded.named.resize(names.size());
  for (const std::string& label : options.labels) coded.named[code(label)] = true;
  for (const std::string& label : predicted) coded.predicted.push_back(code(label));
  for (const std::string& label : gold) coded.gold.push_back(code(label));
  return coded;
}

Counts count(const Coded& coded, std::span<const std::size_t> sample) {
  Counts counts(coded.names.size());
  for (const std::size_t i : sample) {
    counts.predicted[coded.predicted[i]] += 1;
    counts.gold[coded.gold[i]] += 1;
    if (coded.predicted[i] == coded.gold[i]) counts.right[coded.gold[i]] += 1;
  }
  return counts;
}

// A bootstrap sample may lack a class of the whole: it is then averaged over the classes it has,
// exactly as if the sample were the data.
Scores averaged(const Counts& counts, const Coded& coded, const ClassificationOptions& options) {
  if (coded.names.empty()) return {};
  const double total = std::reduce(counts.gold.begin(), counts.gold.end());
  if (options.average == Average::binary) return counts.of(coded.positive);
  if (options.average == Average::micro) {
    const double share = ratio(std::reduce(counts.right.begin(), counts.right.end()), total);
    return {share, share, share};
  }
  Scores sum;
  double weights = 0;
  for (std::size_t c = 0; c < coded.names.size(); ++c) {
    const bool occurs = counts.gold[c] > 0 || counts.predicted[c] > 0 || coded.named[c];
    const double weight = options.average == Average::weighted ? counts.gold[c] : occurs;
    const Scores one = counts.of(c);
    sum.precision += weight * one.precision;
    sum.recall += weight * one.recall;
    sum.f1 += weight * one.f1;
    weights += weight;
  }
  return {ratio(sum.precision, weights), ratio(sum.recall, weights), ratio(sum.f1, weights)};
}

std::vector<std::size_t> everything(std::size_t n) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

Metric score(std::string_view name, double Scores::*member, std::span<const std::string> predicted,
             std::span<const std::string> gold, const ClassificationOptions& options) {
  const auto coded = std::make_shared<const Coded>(encode(predicted, gold, options));
  const Counts counts = count(*coded, everything(gold.size()));
  const Scores scores = averaged(counts, *coded, options);
  const std::string average(to_string(options.average));
  Metric metric{.name = std::string(name), .value = scores.*member};
  metric.signature =
      options.average == Average::binary
          ? signature(name, {{"average", average}, {"positive", options.positive}, {"zero", "0"}})
          : signature(name, {{"average", average}, {"zero", "0"}});
  const double right = std::reduce(counts.right.begin(), counts.right.end());
  metric.details = {{"precision", scores.precision},
                    {"recall", scores.recall},
                    {"f1", scores.f1},
                    {"accuracy", ratio(right, static_cast<double>(gold.size()))},
                    {"count", static_cast<double>(gold.size())},
                    {"classes", static_cast<double>(coded->names.size())}};
  for (std::size_t c = 0; c < std::min(coded->names.size(), kShownClasses); ++c) {
    const Scores one = counts.of(c);
    const std::string suffix = "[" + coded->names[c] + "]";
    metric.details["precision" + suffix] = one.precision;
    metric.details["recall" + suffix] = one.recall;
    metric.details["f1" + suffix] = one.f1;
    metric.details["support" + suffix] = counts.gold[c];
  }
  metric.segments = gold.size();
  metric.resample = [coded, options, member](std::span<const std::size_t> sample) {
    return averaged(count(*coded, sample), *coded, options).*member;
  };
  return metric;
}

}  // namespace

Metric accuracy(std::span<const std::string> predicted, std::span<const std::string> gold) {
  check_lengths(predicted.size(), gold.size());
  const auto equal = std::make_shared<std::vector<bool>>();
  for (std::size_t i = 0; i < gold.size(); ++i) equal->push_back(predicted[i] == gold[i]);
  const auto share = [equal](std::span<const std::size_t> sample) {
    const auto right = std::ranges::count_if(sample, [&](std::size_t i) { return (*equal)[i]; });
    return ratio(static_cast<double>(right), static_cast<double>(sample.size()));
  };
  const auto right = static_cast<double>(std::ranges::count(*equal, true));
  const auto total = static_cast<double>(gold.size());
  return {.name = "accuracy",
          .value = ratio(right, total),
          .signature = signature("accuracy", {}),
          .details = {{"right", right}, {"count", total}},
          .resample = share,
          .segments = gold.size()};
}

Metric precision(std::span<const std::string> predicted, std::span<const std::string> gold,
                 const ClassificationOptions& options) {
  return score("precision", &Scores::precision, predicted, gold, options);
}

Metric recall(std::span<const std::string> predicted, std::span<const std::string> gold,
              const ClassificationOptions& options) {
  return score("recall", &Scores::recall, predicted, gold, options);
}

Metric f1(std::span<const std::string> predicted, std::span<const std::string> gold,
          const ClassificationOptions& options) {
  return score("f1", &Scores::f1, predicted, gold, options);
}

namespace {
constexpr std::array<std::string_view, 4> kAverages = {"macro", "micro", "weighted", "binary"};
}

Average parse_average(std::string_view name) {
  for (std::size_t i = 0; i < kAverages.size(); ++i) {
    if (kAverages[i] == name) return static_cast<Average>(i);
  }
  const std::vector<std::string> known(kAverages.begin(), kAverages.end());
  throw InputError(fmt::format("unknown average '{}'{}", name, suggestion(name, known)));
}

std::string_view to_string(Average average) { return kAverages[static_cast<std::size_t>(average)]; }

}  // namespace heed::metrics
