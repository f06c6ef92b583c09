#pragma once
#include <utility>

#include "heed/explain/alignments_model.hpp"

namespace heed {

struct ScoredPlace {
  AlignmentPlace place;
  double score = 0;
};

/// Where alignments are read off, and why there.
struct PlaceChoice {
  std::string by;                   ///< Of scores: "aer", less is better; or an agreement, more is.
  std::vector<ScoredPlace> places;  ///< Best first; of two models that agree, the best alone.

  /// The options with the best place.
  AlignmentOptions settle(AlignmentOptions options) const;
};

/// Chooses among the places that the options leave open, on pairs that nothing else is measured on:
/// by alignment error rate if the pairs have gold links, else by how often words of both sides
/// choose each other (mutual_agreement), which cannot tell steps apart: the shift is then 0 unless
/// it is given.
PlaceChoice choose_place(const LoadedRun& run, std::span<const Example> pairs,
                         const AlignmentOptions& options,
                         const std::function<void(std::size_t)>& progress = {});

/// The same for a model and one of the other direction, whose options are `reverse_options`.
/// Without gold links the two places are those whose links agree best.
std::pair<PlaceChoice, PlaceChoice> choose_places(
    const LoadedRun& run, const LoadedRun& reverse, std::span<const Example> pairs,
    const AlignmentOptions& options, const AlignmentOptions& reverse_options,
    const std::function<void(std::size_t)>& progress = {});

/// The F1 of one list of alignments against another: of what two models say of the same pairs.
double link_f1(std::span<const metrics::Alignment> a, std::span<const metrics::Alignment> b);

}  // namespace heed
