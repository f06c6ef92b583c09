#pragma once
#include <cstddef>
#include <cstdint>

#include "heed/metrics/metric.hpp"

namespace heed::metrics {

struct BootstrapOptions {
  std::size_t resamples = 1000;
  std::uint64_t seed = 1;
  double confidence = 0.95;
};

/// A percentile interval (Efron 1979; Koehn 2004 for corpus metrics): segments are drawn with
/// replacement, as many as there are, and the metric is computed anew each time.
struct Interval {
  double mean = 0, low = 0, high = 0;
};

/// The same seed draws the same segments on every machine. Without segments all three are the
/// value itself. Linear interpolation between order statistics. InputError for a metric that cannot
/// be resampled, no resamples, or a confidence outside (0, 1).
Interval bootstrap(const Metric& metric, const BootstrapOptions& options = {});

/// Two systems on the same segments: both are resampled together.
struct PairedResult {
  double difference = 0;   ///< value of a − value of b
  Interval interval = {};  ///< of the difference
  /// Two-sided: how often a resampled difference is at least as far from the mean resampled
  /// difference as the observed one is from 0, (count + 1) / (resamples + 1), as in sacreBLEU. Two
  /// equal systems get 1.
  double p_value = 1;
  double wins = 0;  ///< the share of resamples in which a is above b, ties counting half
};

/// InputError when the metrics differ in signature or in the number of segments.
PairedResult paired_bootstrap(const Metric& a, const Metric& b,
                              const BootstrapOptions& options = {});

/// Adds `ci_low`, `ci_high`, `ci_mean` to the details, and the parameters to the signature.
void add_interval(Metric& metric, const BootstrapOptions& options = {});

/// Compares with `other`: details `other`, `difference`, `difference_low`, `difference_high`,
/// `p_value`, `wins`; and add_interval.
void add_comparison(Metric& metric, const Metric& other, const BootstrapOptions& options = {});

}  // namespace heed::metrics
