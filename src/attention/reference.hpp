#pragma once
#include "attention/visibility.hpp"
#include "heed/attention/align.hpp"

namespace heed {

/// A call after all checks: rank 4, layout [B, H, L, D], parts made.
struct CheckedCall {
  Tensor query, key, value;  // key and value still have H_kv heads; query may be undefined
  Problem problem;
  const Score* score = nullptr;
  const Align* align = nullptr;
  Params score_params, align_params;
  Visibility visibility;
  Tensor alibi, sink, weights;
  double scale = 1;
  std::optional<double> softcap;
  double dropout_p = 0;
  std::uint64_t seed = 0;
  Want want;
  bool multi = false;         // multi-dimensional: score_params hold Wd in place of w
  bool own_products = false;  // the unfused kernel: our matrix product in place of torch's

  /// What the alignment sees beside the scores; `type` is the scores'.
  AlignInput align_input(torch::ScalarType type) const;
};

/// The k largest weights of each query and their keys, ties to the lower key, into `result`.
void take_top_keys(const Tensor& weights, std::int64_t k, torch::ScalarType type,
                   AttendResult& result);

/// Grouped heads: each key head serves a run of query heads.
Tensor repeat_heads(const Tensor& x, std::int64_t heads);

Params to_type(const Params& params, torch::ScalarType type);

/// scale → softcap → alibi, in the contract's order; e [..., B, H, Q, K].
Tensor finish_scores(const CheckedCall& call, Tensor e);

/// Why the unfused kernel cannot serve this call; empty: it can.
Reasons unfused_unsupported(const CheckedCall& call);

/// The contract in plain tensor operations, on any device; O(Q K) memory.
AttendResult attend_reference(const CheckedCall& call);

}  // namespace heed
