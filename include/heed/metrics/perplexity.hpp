#pragma once
#include <span>
#include <vector>

#include "heed/metrics/metric.hpp"

namespace heed::metrics {

/// exp(−Σ log p / number of tokens) (Jelinek et al. 1977), over all tokens of all segments: long
/// segments count more than short ones.
///
/// `log_probs[s]` are natural logs of segment s; segments may be empty. −∞ is legal and makes the
/// result infinite; NaN and values above 1e-6 are not (InputError). Without any token, 1.
/// Details: `nats` and `bits` per token, `tokens`, and `segment_mean`, the mean of the segments'
/// own perplexities, which some tools report instead.
Metric perplexity(std::span<const std::vector<double>> log_probs);

}  // namespace heed::metrics
