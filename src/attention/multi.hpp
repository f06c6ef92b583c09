#pragma once
#include "attention/reference.hpp"

namespace heed {

/// The parameters of multi-dimensional additive attention: W1, W2, b and Wd in place of w.
std::vector<ParamInfo> multi_params();

/// Multi-dimensional attention (Shen et al. 2018): a weight for every feature of a value, by the
/// fused kernel or by plain tensor operations. Weights and scores are [B, H, Q, K, d_v].
AttendResult attend_multi(const CheckedCall& call, bool fused);

/// Why the fused kernel cannot serve it; empty: it can.
Reasons multi_unsupported(const CheckedCall& call);

}  // namespace heed
