#pragma once
#include "attention/reference.hpp"

namespace heed {

/// Why the fused kernel cannot serve this call, a sentence each; empty: it can. Never depends on
/// the batch size or the number of threads.
Reasons fused_unsupported(const CheckedCall& call);

/// Which kernel it would be, "fused: dot".
std::string fused_name(const CheckedCall& call);

/// The contract by `kernels::attention_forward` and `_backward`: O(length) memory, the same bits at
/// any thread count and for a batch entry alone or in any batch. Weights and reductions that need a
/// gradient come from the reference; the output's bits are the same either way.
AttendResult attend_fused(const CheckedCall& call);

}  // namespace heed
