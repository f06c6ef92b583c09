#pragma once
#include "heed/attention/trace.hpp"

namespace heed {

/// Σ_l a_l ∘ v_l → [B, D], for weights that come from no score: `weights` [B, N], or [B, N, D] with
/// one for each feature. Padding gets none. The slot sees them and may give others, one a position
/// ([B, N] or [B, 1, 1, N]) or one a feature ([B, 1, 1, N, D]).
Tensor pool(const Input& input, const Tensor& weights, const TraceSlot& slot);

}  // namespace heed
