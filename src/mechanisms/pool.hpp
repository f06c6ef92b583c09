#pragma once
#include "heed/mechanisms/mechanism.hpp"

namespace heed {

/// What a mechanism makes of one vector a position: [B, N, D] → [B, D]. `how` is mean, max, last,
/// or none, which leaves [B, N, D]. An empty sequence gives 0.
Tensor pool(const std::string& how, const Input& x);

/// The option `pool` of such a mechanism.
OptionInfo pool_option(const std::string& fallback);

/// Σ_l a_l ∘ v_l → [B, D], for weights that come from no score: `weights` [B, N], or [B, N, D] with
/// one for each feature. Padding gets none. The slot sees them and may give others, one a position
/// ([B, N] or [B, 1, 1, N]) or one a feature ([B, 1, 1, N, D]).
Tensor weighted_sum(const Input& input, const Tensor& weights, const TraceSlot& slot);

}  // namespace heed
