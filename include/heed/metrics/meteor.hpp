#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "heed/metrics/metric.hpp"
#include "heed/metrics/wordnet.hpp"

namespace heed::metrics {

/// How words are matched when there is a choice.
///
/// `fewest_chunks`: the most exact matches, then the most stem matches, then the most synonym
/// matches, and of these alignments the one in the fewest chunks. `nltk`: NLTK's greedy stages,
/// which take the last free word each time.
enum class MeteorVariant { fewest_chunks, nltk };

struct MeteorOptions {
  MeteorVariant variant = MeteorVariant::fewest_chunks;
  double alpha = 0.9, beta = 3, gamma = 0.5;
  std::string tokeniser = "none";  ///< as in BleuOptions; words are compared in lower case
  const WordNet* wordnet =
      nullptr;  ///< without it there is no synonym stage; used only in the call
};

/// How one hypothesis and one reference match.
struct MeteorMatch {
  std::size_t exact = 0, stem = 0, synonym = 0;
  std::size_t chunks = 0;  ///< runs of matches that are adjacent and in order on both sides
  std::size_t matches() const { return exact + stem + synonym; }
};

/// Words in lower case. Words match when equal, when their Porter stems are equal, or when they
/// share a synset (nltk: when the reference word's stem is in a synset of the hypothesis word's
/// stem).
MeteorMatch meteor_match(std::span<const std::string> hypothesis,
                         std::span<const std::string> reference, const MeteorOptions& options = {});

/// METEOR (Banerjee & Lavie 2005, parameters of Lavie & Agarwal 2007), 0–100:
/// F · (1 − γ (chunks / matches)^β) with F = P R / (α P + (1 − α) R).
///
/// `references[r][s]` is segment s of reference r; a segment takes its best reference. The corpus
/// value is computed from the summed counts; with `nltk`, which has no corpus level, it is the mean
/// of the segments. `details["segment_mean"]` is that mean in either case. No match gives 0.
/// Fewest chunks is exact up to 4096 open alternatives a word, which sentences seldom reach; beyond
/// that (documents in one line, long runs of one word) it is a beam search.
Metric meteor(std::span<const std::string> hypotheses,
              std::span<const std::vector<std::string>> references,
              const MeteorOptions& options = {});

}  // namespace heed::metrics
