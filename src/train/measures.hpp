#pragma once
#include "heed/train/evaluation.hpp"

namespace heed {

/// Of tasks that write: BLEU of the text (of frames: the phoneme error rate), perplexity, and the
/// share of answers that are right to the last word. Where the data has links and the weights were
/// looked at, also the alignment error rate of the right answers.
std::vector<metrics::Metric> measure_translations(const LoadedRun& run,
                                                  std::span<const Example> examples,
                                                  const Evaluation& evaluation);

/// Of tasks that point: the share of sequences that are right in every place, and what it means on
/// a plane: where the right answers visit every point, `tour`, the mean length of the round trip
/// (an answer that leaves points out goes on through them in their order); else `area`, the share
/// of the right polygon's area that the answer's has.
std::vector<metrics::Metric> measure_points(const LoadedRun& run, std::span<const Example> examples,
                                            const Evaluation& evaluation);

}  // namespace heed
