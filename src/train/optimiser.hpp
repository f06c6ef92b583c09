#pragma once
#include "heed/models/task_model.hpp"

namespace heed {

/// Adam (Kingma & Ba 2015), AdamW (Loshchilov & Hutter 2019) or SGD with momentum, by torch's fused
/// kernels. Its state is lists of tensors, so that a checkpoint is plain data.
///
/// Parameters below a module called "tuned" were trained before: they move by `train.tune_lr`.
class Optimiser {
 public:
  Optimiser(const torch::nn::Module& model, const Config::Train& train);

  /// One step of `factor` times the learning rate on the parameters' gradients, after clipping
  /// their joint norm. Gradients are cleared. Parameters without a gradient stay as they are.
  void step(double factor);

  /// Exchanges the weights for their moving average, and back; nothing without `train.average`.
  void swap_average();

  /// The state by name, for a checkpoint.
  NamedTensors state() const;
  void restore(const std::map<std::string, Tensor>& tensors, const std::string& source);

 private:
  struct Group {
    double lr;
    std::vector<std::string> names;
    std::vector<Tensor> parameters, first, second, steps, average;
  };

  double gradient_norm() const;
  void update(Group& group, double lr, double scale);
  void update_average(Group& group);

  Config::Train train_;
  std::vector<Group> groups_;
};

/// What the learning rate is multiplied by at a step (from 0) of so many.
double schedule_factor(const Config::Train& train, std::int64_t step, std::int64_t steps);

}  // namespace heed
