#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "heed/attention/attend.hpp"
#include "heed/attention/tensor.hpp"

namespace heed {

/// How a call of `linear_attend` differs from the plain one.
struct LinearOptions {
  std::string rule = "linear";  // linear, gated, delta, gated-delta
  Tensor decay;                 // [B, H_kv, L, d_k] or [B, H_kv, L, 1], log space; gated rules
  Tensor beta;                  // [B, H_kv, L]; delta rules
  Tensor state;                 // [B, H_kv, d_k, d_v]; undefined: zeros
  std::optional<double> scale;  // none: 1/√d_k
  Kernel kernel = Kernel::automatic;
};

struct LinearAttendResult {
  Tensor output;  // [B, H, L, d_v]
  Tensor state;   // [B, H_kv, d_k, d_v], after the last step
};

/// Linear attention: a state S that each step changes by its key and value, then answers from.
///
/// query [B, H, L, d_k], key [B, H_kv, L, d_k], value [B, H_kv, L, d_v]; H is a multiple of H_kv,
/// and the query heads of a group share one state. In each step, with e^g scaling the rows of S:
///   linear       S ← S + k⊗v
///   gated        S ← e^g S + k⊗v
///   delta        S ← S + β k⊗(v − Sᵀk)
///   gated-delta  S ← e^g S, then as delta
/// and the output is scale · qᵀS. States are float32, or float64 for float64 inputs; decay and beta
/// may have that type too. Gradients flow to every tensor, from the output and the last state.
/// Strides are free; a length of 0 gives the state back.
LinearAttendResult linear_attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                 const LinearOptions& options = {});

/// The same in plain tensor operations, step by step, on any device; what kernel = reference runs.
LinearAttendResult linear_attend_reference(const Tensor& query, const Tensor& key,
                                           const Tensor& value, const LinearOptions& options = {});

/// The kernel alone, on the CPU, outside torch's graph.
LinearAttendResult linear_attend_kernel(const Tensor& query, const Tensor& key, const Tensor& value,
                                        const LinearOptions& options = {});

/// Gradients that arrive at the results; undefined: zeros.
struct LinearArrivals {
  Tensor output, state;
};

/// The kernel's gradients to query, key, value, decay, beta and state; undefined where `wanted`
/// says no.
std::vector<Tensor> linear_attend_gradients(const LinearArrivals& arrivals, const Tensor& query,
                                            const Tensor& key, const Tensor& value,
                                            const LinearOptions& options,
                                            const std::array<bool, 6>& wanted);

}  // namespace heed
