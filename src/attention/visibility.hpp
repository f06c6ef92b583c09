#pragma once
#include "heed/attention/attend.hpp"

namespace heed {

/// The sizes of a checked call, and what decides which pair takes part. Tensors of rank 4.
struct Visibility {
  std::int64_t B = 0, H = 0, Q = 0, K = 0;
  torch::Device device = torch::kCPU;
  Tensor mask;                        // bool, sizes 1 or full
  Tensor bias;                        // float, likewise
  Tensor lengths;                     // [B]
  Tensor query_offsets, key_offsets;  // [B + 1] of a packed batch; Q and K are then the longest
  Causal causal;
  std::optional<std::array<std::int64_t, 2>> window;

  /// i + offset − j for every pair, [B or 1, 1, Q, K].
  Tensor distance() const;
  /// True where a pair takes part by all rules, −∞ in the bias included; broadcasts to
  /// [B, H, Q, K]. Undefined: all do.
  Tensor keep() const;
};

}  // namespace heed
