#pragma once
#include "heed/kernels/attention.hpp"

/// Multi-dimensional additive attention (Shen et al. 2018): a weight for every feature of a value.
///
/// The problem is an AttentionProblem with additive scores and soft alignment whose `weight` is the
/// matrix Wd, [H, D, V] (`weight_stride` from head to head, 0: shared): the scores of a pair are
/// the V numbers act(query + key) · Wd, each shaped by scale, softcap, bias and masks, and aligned
/// over the keys on its own. No tensor of queries × keys is made. Sink, row and column bias, ragged
/// batches and alignments other than soft are not served.
namespace heed::kernels {

struct MultiForward {
  Output out{};           // [B, H, Q, V]
  void* state = nullptr;  // [B, H, Q, 2, V], working type: what `multi_backward` needs
};

void multi_forward(const AttentionProblem& problem, const MultiForward& result);

struct MultiBackwardInputs {
  Input out{};       // as multi_forward gave it
  Input grad_out{};  // [B, H, Q, V]
  const void* state = nullptr;
};

/// Overwritten, not added to. Null: not wanted.
struct MultiBackward {
  Output query{}, key{}, value{};  // of the problem's type
  void* weight = nullptr;          // [H, D, V], working type
};

/// Same bits at any thread count, and, but for `weight`, for a batch entry alone or in any batch.
void multi_backward(const AttentionProblem& problem, const MultiBackwardInputs& inputs,
                    const MultiBackward& result);

}  // namespace heed::kernels
