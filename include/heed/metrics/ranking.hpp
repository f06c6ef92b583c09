#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "heed/metrics/metric.hpp"

namespace heed::metrics {

/// What one user was shown, best first, and what the user really took, with its gain (1 when there
/// is no grade; gains are finite and not negative, items of gain 0 are as if absent). An item
/// shown twice counts at its first place only.
using Ranking = std::vector<std::string>;
using Relevant = std::map<std::string, double>;

/// Hit rate: the share of users who find a relevant item among the first k. Users without relevant
/// items are left out (`details["skipped"]`); without any user, 0. Details: `recall` and `mrr`, the
/// mean reciprocal rank of the first hit, both within k.
Metric hit_rate(std::span<const Ranking> rankings, std::span<const Relevant> relevant,
                std::size_t k);

/// Normalised discounted cumulative gain (Järvelin & Kekäläinen 2002): Σ gain / log2(rank + 1)
/// over the first k, divided by that of the best order, averaged over users as above.
Metric ndcg(std::span<const Ranking> rankings, std::span<const Relevant> relevant, std::size_t k);

}  // namespace heed::metrics
