#pragma once
#include <span>
#include <vector>

#include "heed/metrics/metric.hpp"

namespace heed::metrics {

/// A document's tokens: which are marked, or how much weight each has.
using Marks = std::vector<bool>;
using Weights = std::vector<double>;

/// Agreement of marked tokens with the human ones (DeYoung et al. 2020, ERASER): the mean of the
/// documents' F1. Documents in which nobody marked anything are left out (`details["skipped"]`);
/// if that leaves none, 0. Details: `precision`, `recall` and the `micro_…` of the pooled tokens.
Metric token_f1(std::span<const Marks> predicted, std::span<const Marks> gold);

/// The same on spans (runs of marked tokens): a predicted span is found when the intersection over
/// union with some gold span reaches `threshold`. Precision is averaged over documents with
/// predicted spans, recall over those with gold spans, and F1 is taken of the two means, as in
/// ERASER. Two predicted spans may be found by one gold span only when the threshold is below 0.5.
Metric iou_f1(std::span<const Marks> predicted, std::span<const Marks> gold,
              double threshold = 0.5);

/// Area under the precision-recall curve (trapezoids, one point a distinct weight, as in ERASER),
/// averaged over the documents that have a marked token. Details: `average_precision` (steps
/// instead of trapezoids) and `roc_auc`, over documents with marked and unmarked tokens.
Metric auprc(std::span<const Weights> predicted, std::span<const Marks> gold);

/// Attention correctness (Liu et al. 2017): the share of the weight that lies on gold tokens (those
/// with weight over 0), averaged over the documents that have any. A document whose own weights
/// are all 0 scores 0.
///
/// Details compare the two as distributions: `kl` = KL(gold ‖ predicted) in nats, after 1e-12 is
/// added to every predicted share; `tau` = mean Kendall τ-b and `rho` = mean Spearman ρ, over the
/// documents where both vary (`ranked` counts these); `chance` = the share of tokens that are gold,
/// what uniform weights would score. Weights must be finite and not negative (InputError).
Metric correctness(std::span<const Weights> predicted, std::span<const Weights> gold);

}  // namespace heed::metrics
