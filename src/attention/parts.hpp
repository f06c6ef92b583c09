#pragma once
#include "heed/attention/part.hpp"

namespace heed {

/// Names that have no factory: dimensionality, query, queries.
std::vector<PartInfo> switches();

/// For scores that multiply query and key directly.
Reasons same_width(const Problem& problem);

}  // namespace heed
