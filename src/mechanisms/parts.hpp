#pragma once
#include "heed/attention/part.hpp"

namespace heed {

/// Mechanisms whose place in the taxonomy is known and which are not built yet.
std::vector<PartInfo> planned_mechanisms();

}  // namespace heed
