#pragma once
#include "heed/attention/part.hpp"

namespace heed {

/// Parts whose place in the taxonomy is known and which are not built yet.
std::vector<PartInfo> planned_attention_parts();

/// For scores that multiply query and key directly.
Reasons same_width(const Problem& problem);

}  // namespace heed
