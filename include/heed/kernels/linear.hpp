#pragma once
#include <cstdint>

#include "heed/kernels/attention.hpp"

/// Linear attention on raw pointers: a state [D, V] that each step reads, changes and answers from.
///
/// Shape letters: B batch, H query heads, G key/value heads (H a multiple of G), L length, D width
/// of queries and keys, V width of values. Strides as in attention.hpp.
namespace heed::kernels {

/// What step t does to the state S, with e^g scaling the rows of S:
///   linear       S ← S + k⊗v
///   gated        S ← e^g S + k⊗v
///   delta        S ← S + β k⊗(v − Sᵀk)
///   gated_delta  S ← e^g S, then as delta
enum class LinearRule : std::uint8_t { linear, gated, delta, gated_delta };

constexpr bool has_decay(LinearRule rule) {
  return rule == LinearRule::gated || rule == LinearRule::gated_delta;
}
constexpr bool has_beta(LinearRule rule) {
  return rule == LinearRule::delta || rule == LinearRule::gated_delta;
}

/// Accumulation and `state` are in the *working type*: double for float64, float for the others.
struct LinearProblem {
  Type type = Type::float32;
  LinearRule rule = LinearRule::linear;
  std::int64_t batch = 0, heads = 0, kv_heads = 0, length = 0, width = 0, value_width = 0;

  Input query{};  // [B, H, L, D]
  Input key{};    // [B, G, L, D]
  Input value{};  // [B, G, L, V]

  Input decay{};                 // [B, G, L, decay_width], g in log space; only for gated rules
  std::int64_t decay_width = 1;  // 1: one number a step; or D
  Type decay_type = Type::float32;
  Input beta{};  // [B, G, L, 1]; only for delta rules
  Type beta_type = Type::float32;
  Input state{};  // [B, G, D, V], working type; null: zeros

  double scale = 1;  // out_t = scale * qᵀS after the update
};

struct LinearResult {
  Output out{};    // [B, H, L, V]; null: not wanted
  Output state{};  // [B, G, D, V], working type, after the last step; null: not wanted
};

/// What comes after step t never reaches the output of step t. Same bits at any thread count and
/// for a batch entry alone or in any batch. Throws std::invalid_argument for a problem that has no
/// meaning.
void linear_forward(const LinearProblem& problem, const LinearResult& result);

struct LinearOutputGradients {
  Input out{};    // [B, H, L, V]; null: zeros
  Input state{};  // [B, G, D, V], working type; null: zeros
};

/// Overwritten, not added to. Null: not wanted.
struct LinearGradients {
  Output query{}, key{}, value{};  // as the inputs, of the problem's type
  Output decay{};                  // [B, G, L, decay_width], working type
  Output beta{};                   // [B, G, L, 1], working type
  Output state{};                  // [B, G, D, V], working type
};

/// Needs nothing kept from the forward pass: states are recomputed and held at the ends of chunks
/// only, so memory grows with L, not with L * D * V. Same bits as promised for `linear_forward`.
void linear_backward(const LinearProblem& problem, const LinearOutputGradients& given,
                     const LinearGradients& result);

}  // namespace heed::kernels
