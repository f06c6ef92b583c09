#pragma once
#include "heed/attention/tensor.hpp"

namespace heed {

/// 0 where a weight is dropped, 1/(1 − p) elsewhere; the shape of `weights` [B, H, Q, K]. Drawn
/// from a counter-based generator: the same for a seed and a place, whatever the kernel and
/// threads.
Tensor dropout_mask(const Tensor& weights, double p, std::uint64_t seed);

}  // namespace heed
