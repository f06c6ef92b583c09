#pragma once
#include "heed/attention/position.hpp"
#include "heed/mechanisms/mechanism.hpp"

namespace heed {

/// A place in a wiring where something attends. Every mechanism makes its attention of these, so
/// that the score, the alignment, the dimensionality and the multiplicity of queries that a config
/// names combine with all of them.
class AttenderImpl : public torch::nn::Module {
 public:
  /// `query_dim` 0: it asks with nothing. `value_dim` 0: the keys are the values.
  AttenderImpl(const MechanismProblem& problem, std::int64_t query_dim, std::int64_t key_dim,
               std::int64_t value_dim = 0);

  /// query [B, d_q] → [B, output_dim]; query [B, Q, d_q] → [B, Q, output_dim].
  Tensor attend(const Asking& asking, const TraceSlot& slot);
  /// The same for one query [B, d_q] or an unnamed [B, Q, d_q], with the keys as the values.
  Tensor attend(const Tensor& query, const Input& keys, const TraceSlot& slot);

  std::int64_t output_dim() const { return output_dim_; }

 private:
  Tensor attend_heads(const Asking& asking, const TraceSlot& slot);

  std::int64_t output_dim_;
  std::int64_t heads_ = 1;
  Attention attention_{nullptr};
  std::shared_ptr<Position> position_;
  torch::nn::Linear query_{nullptr}, key_{nullptr}, value_{nullptr}, output_{nullptr};
};
TORCH_MODULE(Attender);

}  // namespace heed
