#pragma once
#include "heed/models/task_model.hpp"

namespace heed {

/// Adam (Kingma & Ba 2015) with decoupled weight decay (Loshchilov & Hutter 2019), by torch's fused
/// kernel. Its state is three lists of tensors, so that a checkpoint is plain data.
class Adam {
 public:
  Adam(const torch::nn::Module& model, double lr, double weight_decay);

  /// One step on the parameters' gradients, after clipping their joint norm to `clip` (0: none).
  /// Gradients are cleared. Parameters without a gradient stay as they are.
  void step(double clip);

  /// The state by name, for a checkpoint.
  NamedTensors state() const;
  void restore(const std::map<std::string, Tensor>& tensors, const std::string& source);

 private:
  std::vector<std::string> names_;
  std::vector<Tensor> parameters_, first_, second_, steps_;
  double lr_, weight_decay_;
};

}  // namespace heed
