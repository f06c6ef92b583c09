#include "heed/metrics/bleu.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "metrics/segments.hpp"
#include "metrics/text.hpp"

namespace heed::metrics {
namespace {

using Ids = std::vector<std::uint32_t>;

/// An n-gram and how often it occurs.
struct Gram {
  std::span<const std::uint32_t> words;
  std::size_t count;

  bool before(const Gram& other) const {
    return std::ranges::lexicographical_compare(words, other.words);
  }
};

class Encoder {
 public:
  explicit Encoder(const BleuOptions& options) : options_(options) {}

  Ids operator()(const std::string& text) {
    Ids ids;
    const std::string cased = options_.lowercase ? lower_utf8(text) : text;
    for (std::string& word : tokenise(cased, options_.tokeniser)) {
      const auto next = static_cast<std::uint32_t>(ids_.size());
      ids.push_back(ids_.try_emplace(std::move(word), next).first->second);
    }
    return ids;
  }

 private:
  const BleuOptions& options_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

std::vector<Gram> count_grams(const Ids& ids, std::size_t order) {
  std::vector<Gram> grams;
  for (std::size_t i = 0; i + order <= ids.size(); ++i) {
    grams.push_back({std::span(ids).subspan(i, order), 1});
  }
  std::ranges::sort(grams, [](const Gram& a, const Gram& b) { return a.before(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < grams.size(); ++i) {
    if (kept > 0 && std::ranges::equal(grams[kept - 1].words, grams[i].words)) {
      ++grams[kept - 1].count;
    } else {
      grams[kept++] = grams[i];
    }
  }
  grams.resize(kept);
  return grams;
}

std::size_t count_of(const Gram& gram, std::span<const Gram> sorted) {
  const auto found = std::ranges::lower_bound(
      sorted, gram, [](const Gram& a, const Gram& b) { return a.before(b); });
  const bool same = found != sorted.end() && std::ranges::equal(found->words, gram.words);
  return same ? found->count : 0;
}

/// One segment's row: hypothesis length, reference length, matches by order, n-grams by order.
std::vector<double> segment_row(const Ids& hypothesis, std::span<const Ids> references,
                                std::size_t max_order) {
  std::vector<double> row(2 + 2 * max_order);
  const auto gap = [&](const Ids& ids) {
    return std::llabs(static_cast<long long>(ids.size()) -
                      static_cast<long long>(hypothesis.size()));
  };
  const auto closest = std::ranges::min_element(references, [&](const Ids& a, const Ids& b) {
    return gap(a) != gap(b) ? gap(a) < gap(b) : a.size() < b.size();
  });
  row[0] = static_cast<double>(hypothesis.size());
  row[1] = static_cast<double>(closest->size());
  for (std::size_t n = 1; n <= max_order; ++n) {
    std::vector<std::vector<Gram>> allowed;
    for (const Ids& reference : references) allowed.push_back(count_grams(reference, n));
    for (const Gram& gram : count_grams(hypothesis, n)) {
      std::size_t most = 0;
      for (const auto& grams : allowed) most = std::max(most, count_of(gram, grams));
      row[1 + n] += static_cast<double>(std::min(gram.count, most));
      row[1 + max_order + n] += static_cast<double>(gram.count);
    }
  }
  return row;
}

struct Score {
  double value = 0, brevity = 1;
  std::vector<double> precisions;
};

double smoothing_value(const BleuOptions& options) {
  return options.smooth_value.value_or(options.smooth == "add-k" ? 1.0 : 0.1);
}

Score score(std::span<const double> row, const BleuOptions& options) {
  const std::size_t orders = options.max_order;
  Score result{.precisions = std::vector<double>(orders)};
  const double hyp_len = row[0], ref_len = row[1];
  if (hyp_len < ref_len) result.brevity = hyp_len > 0 ? std::exp(1 - ref_len / hyp_len) : 0;
  const auto correct = row.subspan(2, orders), total = row.subspan(2 + orders, orders);
  if (std::ranges::all_of(correct, [](double c) { return c == 0; })) return result;

  std::size_t used = orders;
  double halved = 1;
  for (std::size_t n = 0; n < orders; ++n) {
    const double added = options.smooth == "add-k" && n > 0 ? smoothing_value(options) : 0;
    const double matches = correct[n] + added, grams = total[n] + added;
    if (grams == 0) break;
    if (options.effective_order) used = n + 1;
    double counted = matches;
    if (matches == 0 && options.smooth == "exp") counted = halved /= 2;
    if (matches == 0 && options.smooth == "floor") counted = smoothing_value(options);
    result.precisions[n] = 100 * counted / grams;
  }
  double logs = 0;
  for (std::size_t n = 0; n < used; ++n)
    logs += std::log(result.precisions[n]);  // log 0 = −∞ is right
  result.value = result.brevity * std::exp(logs / static_cast<double>(used));
  return result;
}

void check(std::span<const std::string> hypotheses,
           std::span<const std::vector<std::string>> references, const BleuOptions& options) {
  static const std::vector<std::string> kSmooth = {"exp", "floor", "add-k", "none"};
  HEED_CHECK(std::ranges::find(kSmooth, options.smooth) != kSmooth.end(),
             "bleu: unknown smoothing '{}'{}", options.smooth, suggestion(options.smooth, kSmooth));
  HEED_CHECK(options.max_order >= 1 && options.max_order <= 16,
             "bleu: n-gram order {} is not in 1 … 16", options.max_order);
  HEED_CHECK(smoothing_value(options) >= 0 && std::isfinite(smoothing_value(options)),
             "bleu: smoothing value {} is negative or not finite", smoothing_value(options));
  HEED_CHECK(!references.empty(), "bleu: no reference");
  for (const auto& reference : references) {
    HEED_CHECK(reference.size() == hypotheses.size(), "bleu: {} hypotheses but {} references",
               hypotheses.size(), reference.size());
  }
}

}  // namespace

Metric bleu(std::span<const std::string> hypotheses,
            std::span<const std::vector<std::string>> references, const BleuOptions& options) {
  check(hypotheses, references, options);
  Encoder encode(options);
  SegmentSums sums(2 + 2 * options.max_order);
  for (std::size_t s = 0; s < hypotheses.size(); ++s) {
    const Ids hypothesis = encode(hypotheses[s]);
    std::vector<Ids> encoded;
    for (const auto& reference : references) encoded.push_back(encode(reference[s]));
    sums.add(segment_row(hypothesis, encoded, options.max_order));
  }
  const std::vector<double> row = sums.total();
  const Score whole = score(row, options);

  Metric metric{.name = "bleu"};
  const bool valued = options.smooth == "floor" || options.smooth == "add-k";
  metric.signature = signature(
      "bleu", {{"nrefs", fmt::format("{}", references.size())},
               {"case", options.lowercase ? "lc" : "mixed"},
               {"eff", options.effective_order ? "yes" : "no"},
               {"tok", options.tokeniser},
               {"smooth", valued ? fmt::format("{}[{}]", options.smooth, smoothing_value(options))
                                 : options.smooth},
               {"order", fmt::format("{}", options.max_order)}});
  metric.details = {{"bp", whole.brevity},
                    {"ratio", ratio(row[0], row[1])},
                    {"hyp_len", row[0]},
                    {"ref_len", row[1]}};
  for (std::size_t n = 1; n <= options.max_order; ++n) {
    metric.details[fmt::format("precision{}", n)] = whole.precisions[n - 1];
    metric.details[fmt::format("correct{}", n)] = row[1 + n];
    metric.details[fmt::format("total{}", n)] = row[1 + options.max_order + n];
  }
  finish(metric, std::move(sums),
         [options](std::span<const double> r) { return score(r, options).value; });
  return metric;
}

}  // namespace heed::metrics
