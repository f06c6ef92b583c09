#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <vector>

#include "heed/attention/trace.hpp"

namespace heed {

/// The score-function estimator (REINFORCE, Williams 1992): random choices learn from a reward.
///
/// The reward is held against a moving average of earlier ones, which lowers the variance and
/// leaves the expectation as it is, because no choice of a step can influence it. All choices of a
/// step share the reward and therefore the average. It is kept in buffers, so that a resumed
/// training goes on with the same bits.
class ReinforceImpl : public torch::nn::Module {
 public:
  ReinforceImpl();

  /// The choices' part of the training loss, a scalar: the mean over the batch of
  /// −(reward − baseline) · logp − weight · entropy, summed over the choices. `reward` [B] gets no
  /// gradient. With the reward −L of each entry, mean L + this has the gradient of E[mean L]. Takes
  /// the reward into the average afterwards. 0 without choices.
  Tensor loss(const std::vector<Choice>& choices, const Tensor& reward);

  /// What the next reward is held against; 0 before the first.
  double baseline() const;

 private:
  Tensor average_, weight_;  // Σ decay^age · reward, and the same of 1
};
TORCH_MODULE(Reinforce);

}  // namespace heed
