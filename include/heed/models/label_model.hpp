#pragma once
#include <torch/nn/modules/linear.h>

#include "heed/models/encoder.hpp"
#include "heed/models/task_model.hpp"

namespace heed {

/// What logits [B, labels] say; `labels` [B] may be undefined.
Reply label_reply(const Tensor& logits, const Tensor& labels);

/// Tasks that choose one of several labels: features, a query, attention, a softmax.
class LabelModel : public TaskModel {
 public:
  LabelModel(const Config& config, const DataInfo& info);

  Tensor losses(const Batch& batch, Trace& trace) override;
  Reply answer(const Batch& batch, Trace& trace) override;
  const Mechanism& attention() const override { return *attention_; }

  /// Logits [B, labels].
  virtual Tensor forward(const Batch& batch, Trace& trace);
  /// The first half of `forward`: all that attention sees.
  Inputs features(const Batch& batch, Trace& trace);
  /// The second half: attention and the output model.
  virtual Tensor logits(const Inputs& features, Trace& trace);
  const Encoder& encoder() const { return encoder_; }
  /// What attention made of the inputs, [B, D], ready for the output model.
  Tensor context(const Batch& batch, Trace& trace);
  /// Holds nothing where attention gives the logits itself.
  const torch::nn::Linear& output() const { return output_; }

 protected:
  Tensor attend(const Inputs& features, Trace& trace);

 private:
  Encoder encoder_{nullptr};
  std::shared_ptr<Mechanism> attention_;
  Tensor query_;  // undefined: the mechanism asks with nothing, or another input asks
  std::optional<Options> specialised_;
  torch::nn::Linear output_{nullptr};
  double dropout_, smoothing_;
};

}  // namespace heed
