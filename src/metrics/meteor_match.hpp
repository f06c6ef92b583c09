#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "heed/metrics/meteor.hpp"

namespace heed::metrics {

enum class Stage { exact, stem, synonym };

/// Hypothesis word i may be matched with reference word `word`.
struct Candidate {
  std::size_t word;
  Stage stage;
};

/// The alignment with the most exact matches, of these the most stem matches, of these the most
/// synonym matches, of these the fewest chunks. `candidates[i]` are those of hypothesis word i, in
/// the order of the reference; two words with a common exact candidate have all of them in common.
MeteorMatch fewest_chunks(std::span<const std::vector<Candidate>> candidates,
                          std::size_t reference_length);

}  // namespace heed::metrics
