#pragma once
#include <torch/nn/modules/linear.h>

#include "heed/models/encoder.hpp"
#include "heed/models/task_model.hpp"

namespace heed {

/// Tasks that choose one of several labels: features, a query, attention, a softmax.
class LabelModel : public TaskModel {
 public:
  LabelModel(const Config& config, const DataInfo& info);

  Tensor losses(const Batch& batch, Trace& trace) override;
  Reply answer(const Batch& batch, Trace& trace) override;
  const Mechanism& attention() const override { return *attention_; }

  /// Logits [B, labels].
  Tensor forward(const Batch& batch, Trace& trace);

 private:
  Encoder encoder_{nullptr};
  std::shared_ptr<Mechanism> attention_;
  Tensor query_;  // undefined: the mechanism asks with nothing, or another input asks
  std::optional<Options> specialised_;
  torch::nn::Linear output_{nullptr};
  double dropout_, smoothing_;
};

}  // namespace heed
