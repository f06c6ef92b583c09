#include "heed/metrics/error_rate.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

#include "heed/base/error.hpp"
#include "metrics/segments.hpp"
#include "metrics/text.hpp"

namespace heed::metrics {
namespace {

using Words = std::vector<std::string>;
using Count = std::function<Edits(const Words&, const Words&)>;

// Hits and substitutions pair words regardless of place; what is left over on one side is
// inserted or deleted, so the errors are max(|h|, |r|) − |h ∩ r|.
Edits bag_edits(Words hypothesis, Words reference) {
  std::ranges::sort(hypothesis);
  std::ranges::sort(reference);
  Words common;
  std::ranges::set_intersection(hypothesis, reference, std::back_inserter(common));
  const std::size_t shorter = std::min(hypothesis.size(), reference.size());
  return {.hits = common.size(),
          .substitutions = shorter - common.size(),
          .deletions = reference.size() - shorter,
          .insertions = hypothesis.size() - shorter};
}

double rate(std::span<const double> sums) {
  const double errors = sums[1] + sums[2] + sums[3];
  const double words = sums[0] + sums[1] + sums[2];
  return ratio(errors, words, errors);
}

double rate(const Edits& e) {
  return rate(std::vector<double>{static_cast<double>(e.hits), static_cast<double>(e.substitutions),
                                  static_cast<double>(e.deletions),
                                  static_cast<double>(e.insertions)});
}

Metric error_rate(std::string_view name, std::string_view unit, const Count& count,
                  std::span<const std::string> hypotheses,
                  std::span<const std::vector<std::string>> references) {
  HEED_CHECK(!references.empty(), "{}: no reference", name);
  for (const auto& reference : references) {
    HEED_CHECK(reference.size() == hypotheses.size(), "{}: {} hypotheses but {} references", name,
               hypotheses.size(), reference.size());
  }
  SegmentSums sums(5);  // hits, substitutions, deletions, insertions, segments with an error
  for (std::size_t s = 0; s < hypotheses.size(); ++s) {
    const Words hypothesis = split_spaces(hypotheses[s]);
    Edits best = count(hypothesis, split_spaces(references[0][s]));
    for (const auto& reference : references.subspan(1)) {
      const Edits other = count(hypothesis, split_spaces(reference[s]));
      if (rate(other) < rate(best)) best = other;
    }
    sums.add({static_cast<double>(best.hits), static_cast<double>(best.substitutions),
              static_cast<double>(best.deletions), static_cast<double>(best.insertions),
              best.errors() > 0 ? 1.0 : 0.0});
  }
  const std::vector<double> total = sums.total();
  Metric metric{.name = std::string(name)};
  metric.signature = signature(name, {{"unit", std::string(unit)},
                                      {"nrefs", fmt::format("{}", references.size())},
                                      {"case", "mixed"},
                                      {"tok", "space"}});
  metric.details = {
      {"hits", total[0]},
      {"substitutions", total[1]},
      {"deletions", total[2]},
      {"insertions", total[3]},
      {"reference_words", total[0] + total[1] + total[2]},
      {"sentence_error_rate", ratio(total[4], static_cast<double>(hypotheses.size()))}};
  finish(metric, std::move(sums), [](std::span<const double> row) { return rate(row); });
  return metric;
}

}  // namespace

Edits edits(std::span<const std::string> hypothesis, std::span<const std::string> reference) {
  struct Cell {
    std::size_t errors, hits;
    // Fewer errors first, then more hits.
    bool better(const Cell& other) const {
      return std::tie(errors, other.hits) < std::tie(other.errors, hits);
    }
  };
  std::vector<Cell> row(reference.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = {j, 0};
  for (std::size_t i = 1; i <= hypothesis.size(); ++i) {
    Cell corner = row[0];
    row[0] = {i, 0};
    for (std::size_t j = 1; j < row.size(); ++j) {
      const bool equal = hypothesis[i - 1] == reference[j - 1];
      Cell best{corner.errors + !equal, corner.hits + equal};
      for (const Cell step : {row[j], row[j - 1]}) {
        const Cell moved{step.errors + 1, step.hits};
        if (moved.better(best)) best = moved;
      }
      corner = row[j];
      row[j] = best;
    }
  }
  // The four counts follow from errors E and hits H: every reference word is hit, substituted or
  // deleted, every hypothesis word hit, substituted or inserted.
  const auto [errors, hits] = row.back();
  const std::size_t insertions = errors + hits - reference.size();
  const std::size_t deletions = errors + hits - hypothesis.size();
  return {.hits = hits,
          .substitutions = errors - insertions - deletions,
          .deletions = deletions,
          .insertions = insertions};
}

Metric wer(std::span<const std::string> hypotheses,
           std::span<const std::vector<std::string>> references) {
  return error_rate("wer", "word", edits, hypotheses, references);
}

Metric per(std::span<const std::string> hypotheses,
           std::span<const std::vector<std::string>> references, PerMode mode) {
  if (mode == PerMode::phoneme) return error_rate("per", "phoneme", edits, hypotheses, references);
  return error_rate("per", "position-independent-word", bag_edits, hypotheses, references);
}

}  // namespace heed::metrics
