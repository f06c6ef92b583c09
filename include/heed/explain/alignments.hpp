#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "heed/metrics/alignment.hpp"

namespace heed {

/// How much each word of a translation looked at each word of the text.
struct WordWeights {
  std::size_t sources = 0, targets = 0;
  std::vector<float> data = {};  ///< targets × sources, row by row.

  float at(std::size_t target, std::size_t source) const { return data[target * sources + source]; }
};

/// Weights of pieces as weights of words, by where each word begins among the pieces (and behind
/// the last where all end). A word is asked for by the mean of its pieces; it is looked at by the
/// sum over its pieces or, so that long words do not win by their length, the mean.
WordWeights merge_pieces(const WordWeights& pieces, std::span<const std::size_t> sources,
                         std::span<const std::size_t> targets, bool mean_of_sources);

/// Every word of the translation linked to the word it looked at most (the first of equal ones),
/// or, with a threshold over 0, to all that got at least so much. A word that looked at nothing has
/// no link.
metrics::Alignment links_of(const WordWeights& weights, double threshold = 0);

/// How much the words agree on who belongs to whom: the F1 of the links of `links_of` and of those
/// that the words of the text would choose, each by its own column. 0 without links.
double mutual_agreement(const WordWeights& weights);

/// Ways to make one alignment of two.
///
/// `grow-diag` starts from the intersection and adds links of the union that touch one that is in,
/// also at a corner, while one of their words has no link yet; `-final` then adds links of one
/// direction after the other if one of their words has none, `-final-and` if both have none (Koehn
/// et al. 2005). The `-strict` forms add a link only if both words have none, in all steps.
std::vector<std::string> symmetrisations();

/// Both alignments count (text, translation): `reverse` is already turned round. InputError with
/// the nearest method when there is no such method.
metrics::Alignment symmetrise(const metrics::Alignment& forward, const metrics::Alignment& reverse,
                              const std::string& method);

/// Links the other way round.
metrics::Alignment turned(const metrics::Alignment& alignment);

}  // namespace heed
