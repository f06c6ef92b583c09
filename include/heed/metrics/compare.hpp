#pragma once
#include <span>
#include <vector>

#include "heed/metrics/bootstrap.hpp"
#include "heed/metrics/metric.hpp"

namespace heed::metrics {

/// The mean and Student's t interval of values that were drawn independently, as one a seed. With
/// fewer than two values the interval's ends are NaN, without any the mean too.
Interval mean_interval(std::span<const double> values, double confidence = 0.95);

/// One number a segment, to compare systems by. Of a metric that is a mean, what it is the mean of;
/// of others, as BLEU, the jackknife's pseudo-values (Quenouille 1956): n · all − (n − 1) · all but
/// this one, which stand in for the terms of a mean, as Dorfman, Berbaum and Metz (1992) use them.
/// Empty when the metric cannot be resampled, or has more than 20 000 segments and is no mean.
std::vector<double> segment_scores(const Metric& metric);

/// The scores of one system: a list a training seed, a number an example, all equally long.
using SeedScores = std::vector<std::vector<double>>;

struct CompareOptions {
  double confidence = 0.95;
  std::size_t flips = 10000;  ///< of the permutation test, when there are too many to try them all
  std::uint64_t seed = 1;
};

/// Two systems trained with the same seeds and asked the same examples: a − b.
///
/// Both seeds and examples are samples, and they are crossed: every seed answers every example. The
/// variance of the mean difference is that of a two-way layout with both effects random,
/// (MS_seed + MS_example − MS_rest) / (seeds · examples), with Satterthwaite's degrees of freedom
/// (1946): Clark's quasi-F (1973), the analysis of many readers and many cases in radiology. It is
/// never taken below what either factor alone gives. With one seed it is the paired t test over
/// examples, and nothing is said about other seeds.
struct CrossedComparison {
  Interval difference = {};  ///< the mean of a − b with its t interval; NaN ends without a test
  double df = 0;
  double p_value = 0;     ///< two-sided; NaN with fewer than two examples
  double p_examples = 0;  ///< of these very models: signs of the examples' mean differences flipped
  double p_seeds = 0;     ///< of these very examples: paired t over seeds; NaN with one seed
};

/// InputError when the numbers of seeds or examples differ, or there are none.
CrossedComparison compare_crossed(const SeedScores& a, const SeedScores& b,
                                  const CompareOptions& options = {});

/// P-values corrected for their number by Holm's step-down method (1979), which holds whatever
/// their dependence. A NaN is no comparison: it stays, and does not count.
std::vector<double> holm(std::span<const double> p_values);

}  // namespace heed::metrics
