#pragma once
#include <vector>

#include "heed/attention/part.hpp"

namespace heed {

/// Heads, feed-forward width, activation and norm, of encoders and decoders alike.
std::vector<OptionInfo> transformer_options();

PartInfo transformer_feature();

}  // namespace heed
