#pragma once
#include <optional>
#include <span>

namespace heed::metrics {

/// Kendall's τ-b, which allows for ties (Kendall 1945), in O(n log n) (Knight 1966). Empty when one
/// side has fewer than two distinct values: there is no order to agree with. No NaN (InputError).
std::optional<double> kendall_tau(std::span<const double> a, std::span<const double> b);

/// The chance of a τ at least as far from 0 between unrelated lists: exact without ties when there
/// are at most 33 values or at most one exchange (Kendall 1970), else by the normal distribution
/// with the variance that allows for ties. 1 where there is no τ.
double kendall_p_value(std::span<const double> a, std::span<const double> b);

/// Spearman's ρ: the correlation of the ranks, ties sharing their mean rank. Empty as above.
std::optional<double> spearman_rho(std::span<const double> a, std::span<const double> b);

}  // namespace heed::metrics
