#pragma once
#include <vector>

#include "heed/attention/part.hpp"

namespace heed {

/// What turns pictures into vectors.
std::vector<PartInfo> picture_models();

}  // namespace heed
