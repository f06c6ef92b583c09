#pragma once
#include "heed/attention/tensor.hpp"

namespace heed {

/// 0 where a weight is dropped, 1/(1 − p) elsewhere; the shape of `weights` [B, H, Q, K]. Drawn
/// from a counter-based generator: the same for a seed and a place, whatever the kernel and
/// threads.
Tensor dropout_mask(const Tensor& weights, double p, std::uint64_t seed);

/// One number of [0, 1) for each row of `weights`, [B, H, Q]: what an alignment that samples draws.
Tensor row_uniforms(const Tensor& weights, std::uint64_t seed);
/// One for each pair, [B, H, Q, K], from counters that neither dropout nor the rows use.
Tensor pair_uniforms(const Tensor& weights, std::uint64_t seed);

}  // namespace heed
