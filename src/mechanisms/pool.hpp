#pragma once
#include "heed/mechanisms/mechanism.hpp"

namespace heed {

/// What a mechanism makes of one vector a position: [B, N, D] → [B, D]. `how` is mean, max, last,
/// or none, which leaves [B, N, D]. An empty sequence gives 0.
Tensor pool(const std::string& how, const Input& x);

/// The option `pool` of such a mechanism.
OptionInfo pool_option(const std::string& fallback);

}  // namespace heed
