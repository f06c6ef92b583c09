#pragma once

namespace heed::metrics {

/// Student's t distribution with `df` degrees of freedom, which need not be whole: the probability
/// of a value at least as far from 0 as `t`. NaN for a NaN or df ≤ 0.
double student_two_sided(double t, double df);

/// The t whose interval −t … t holds the share `confidence` (in (0, 1)) of the distribution.
double student_critical(double confidence, double df);

}  // namespace heed::metrics
