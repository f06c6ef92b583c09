#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "heed/metrics/metric.hpp"

namespace heed::metrics {

/// A cheapest edit of a hypothesis into a reference; of several, the one with the most hits.
struct Edits {
  std::size_t hits = 0, substitutions = 0, deletions = 0, insertions = 0;
  std::size_t errors() const { return substitutions + deletions + insertions; }
  bool operator==(const Edits&) const = default;
};

/// Levenshtein distance on words, memory O(length of the reference).
Edits edits(std::span<const std::string> hypothesis, std::span<const std::string> reference);

/// Word error rate: errors over reference words, summed over the corpus, so it may exceed 1.
///
/// `references[r][s]` is segment s of reference r; of several references a segment takes the one
/// with the lowest rate of its own (the first at a tie). Words are what lies between spaces. When
/// the references hold no word at all the value is the number of inserted words, as in jiwer 4.
/// Details: hits, substitutions, deletions, insertions, reference_words, sentence_error_rate.
Metric wer(std::span<const std::string> hypotheses,
           std::span<const std::vector<std::string>> references);

/// What PER is short for: phoneme error rate (the edit distance of WER, on phonemes separated by
/// spaces), or position-independent error rate (Tillmann et al. 1997): the words are bags, and
/// (max(|h|, |r|) − |h ∩ r|) / |r| is reported, summed as above.
enum class PerMode { phoneme, position_independent };

Metric per(std::span<const std::string> hypotheses,
           std::span<const std::vector<std::string>> references, PerMode mode = PerMode::phoneme);

}  // namespace heed::metrics
