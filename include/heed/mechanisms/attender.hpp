#pragma once
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/rnn.h>

#include "heed/attention/position.hpp"
#include "heed/mechanisms/mechanism.hpp"

namespace heed {

/// A place in a wiring where something attends. Every mechanism makes its attention of these, so
/// that the score, the alignment, the dimensionality and the multiplicity of queries that a config
/// names combine with all of them.
class AttenderImpl : public torch::nn::Module {
 public:
  /// `query_dim` 0: it asks with nothing, or, where the score, the alignment or the hops need a
  /// query, with a learned vector. `value_dim` 0: the keys are the values.
  AttenderImpl(const MechanismProblem& problem, std::int64_t query_dim, std::int64_t key_dim,
               std::int64_t value_dim = 0);

  /// query [B, d_q] → [B, output_dim]; query [B, Q, d_q] → [B, Q, output_dim]. Multi-head without
  /// projections also takes its M queries ready made, [B, M, 1, d_q] or [B, M, Q, d_q]. With hops
  /// the weights go to the slots "hop 1", "hop 2" … below the given one. Over a group of processes
  /// the position is "none" or "alibi", and there are no lengths.
  Tensor attend(const Asking& asking, const TraceSlot& slot);
  /// The same for one query [B, d_q] or an unnamed [B, Q, d_q], with the keys as the values.
  Tensor attend(const Tensor& query, const Input& keys, const TraceSlot& slot);

  std::int64_t output_dim() const { return output_dim_; }
  /// The slots that one call records, below the given name.
  std::vector<std::string> slots(const std::string& name) const;

 private:
  void make_heads(std::int64_t query_dim, std::int64_t key_dim, std::int64_t value_dim);
  void make_hops(const Options& options, std::int64_t query_dim, std::int64_t key_dim);
  Tensor look(const Asking& asking, const TraceSlot& slot);
  Tensor look_with_heads(const Asking& asking, const TraceSlot& slot);
  Tensor look_with_shared_keys(const Asking& asking, const TraceSlot& slot);
  Tensor next_query(const Tensor& query, const Tensor& context);

  std::int64_t output_dim_;
  std::int64_t heads_ = 1;
  std::int64_t hops_ = 0;  // 0: one look, in the slot itself
  Attention attention_{nullptr};
  Tensor own_query_;     // [d_q], where nobody else asks
  Tensor many_queries_;  // [M, d_q], of heads without projections
  std::shared_ptr<Position> position_;
  torch::nn::Linear query_{nullptr}, key_{nullptr}, value_{nullptr}, output_{nullptr};
  torch::nn::Linear linear_update_{nullptr};
  torch::nn::GRUCell gru_update_{nullptr};
  std::vector<torch::nn::Linear> hop_keys_;    // empty: the keys stay
  std::vector<torch::nn::Linear> hop_values_;  // empty: the values stay
  bool tied_ = false;                          // the values of a hop are the keys of the next
  bool carry_ = false;
  bool counts_places_ = false;  // the position counts from the first of the given keys
};
TORCH_MODULE(Attender);

}  // namespace heed
