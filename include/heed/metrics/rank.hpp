#pragma once
#include <optional>
#include <span>

namespace heed::metrics {

/// Kendall's τ-b, which allows for ties (Kendall 1945), in O(n log n) (Knight 1966). Empty when one
/// side has fewer than two distinct values: there is no order to agree with. No NaN (InputError).
std::optional<double> kendall_tau(std::span<const double> a, std::span<const double> b);

/// Spearman's ρ: the correlation of the ranks, ties sharing their mean rank. Empty as above.
std::optional<double> spearman_rho(std::span<const double> a, std::span<const double> b);

}  // namespace heed::metrics
