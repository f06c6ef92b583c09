#pragma once
#include "heed/attention/tensor.hpp"

namespace heed::explain {

/// Total variation of two outputs [B, C]: half the sum of what each class differs by, [B].
inline Tensor total_variation(const Tensor& a, const Tensor& b) {
  return (a - b).abs().sum(-1) / 2;
}

/// KL(a ‖ b) in nats along `axis`; where a is 0 nothing is added, b is held above 1e-12.
inline Tensor divergence(const Tensor& a, const Tensor& b, std::int64_t axis = -1) {
  return torch::where(a > 0, a * (a.clamp_min(1e-12).log() - b.clamp_min(1e-12).log()), 0.0)
      .sum(axis);
}

/// The Jensen-Shannon divergence in nats, 0 … ln 2, along `axis`.
inline Tensor jensen_shannon(const Tensor& a, const Tensor& b, std::int64_t axis = -1) {
  const Tensor middle = (a + b) / 2;
  return (divergence(a, middle, axis) + divergence(b, middle, axis)) / 2;
}

}  // namespace heed::explain
