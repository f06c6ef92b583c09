#pragma once
#include <memory>

#include "attention/kernel_call.hpp"
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

/// What a node of torch's graph keeps of a call beside the operands that have gradients.
struct FusedPlan {
  Visibility visibility;
  ScoreForm::Kind score = ScoreForm::Kind::dot;
  std::string act;
  AlignForm align;
  Tensor alibi;
  double scale = 1;
  std::optional<double> softcap;
  double dropout_p = 0;
  std::uint64_t seed = 0;

  /// The kernel's problem but for the operands that not every call has.
  kernels::AttentionProblem problem(const Tensor& query, const Tensor& key,
                                    const Tensor& value) const;
};

std::shared_ptr<FusedPlan> make_plan(const CheckedCall& call, const ScoreForm& form);

/// Gives key and value as many heads as the queries have where the kernel needs it: for parameters
/// of each head, or when one side has them already.
void match_heads(Tensor& key, Tensor& value, std::int64_t heads, bool each_head);

/// A plan in a node's saved data, and out of it.
c10::IValue hold(std::shared_ptr<FusedPlan> plan);
const FusedPlan& held(const c10::IValue& value);

}  // namespace heed
