#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/explain/alignments.hpp"
#include "heed/models/task_model.hpp"

namespace heed {

/// Where in a model alignments are read off.
struct AlignmentPlace {
  std::string map;        ///< As traces name it: "attention", "decoder/layer 2/memory".
  std::int64_t head = 0;  ///< From 1; 0: the mean of all.
  /// 0: what was looked at when the word was about to be written; 1: when it had been read, one
  /// step later, the last word at the step of the end.
  std::int64_t shift = 0;

  bool operator==(const AlignmentPlace&) const = default;
};

/// Which places are looked at, and how weights become links.
struct AlignmentOptions {
  std::string map;  ///< Empty: every map of the translation's words on the text.
  std::optional<std::int64_t> head, shift;
  double threshold = 0;  ///< See links_of.
  bool mean_of_pieces = false;
  std::size_t batch = 64;

  /// True if one place is left.
  bool settled() const { return !map.empty() && head && shift; }
};

/// What one place says of every pair.
struct PlaceLinks {
  AlignmentPlace place;
  std::vector<metrics::Alignment> links;
  double agreement = 0;  ///< Mean of mutual_agreement.
};

/// Reads the given translations (Example::target) as if the model had written them, and links
/// their words with those of the text, at every place that the options leave open. `words` are
/// whole words; the run's subwords are cut and merged inside. Padding and the end of a
/// translation get no links. `progress` is told how many pairs are done.
///
/// InputError for a run of another kind, a pair without translation, an unknown map or head, and
/// frames instead of words.
std::vector<PlaceLinks> attention_links(const LoadedRun& run, std::span<const Example> words,
                                        const AlignmentOptions& options = {},
                                        const std::function<void(std::size_t)>& progress = {});

/// The same pairs for a model of the other direction.
std::vector<Example> turned(std::span<const Example> examples);

/// The gold links of each pair.
std::vector<metrics::Alignment> gold_alignments(std::span<const Example> examples);

}  // namespace heed
