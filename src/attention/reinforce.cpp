#include "heed/attention/reinforce.hpp"

#include "heed/base/error.hpp"

namespace heed {

ReinforceImpl::ReinforceImpl()
    : average_(register_buffer("average", torch::zeros({}, torch::kFloat64))),
      weight_(register_buffer("weight", torch::zeros({}, torch::kFloat64))) {}

double ReinforceImpl::baseline() const {
  const double weight = weight_.item<double>();
  return weight > 0 ? average_.item<double>() / weight : 0;
}

Tensor ReinforceImpl::loss(const std::vector<Choice>& choices, const Tensor& reward) {
  Tensor total = torch::zeros({}, reward.options().requires_grad(false));
  if (choices.empty()) return total;
  const double decay = choices.front().baseline_decay;
  const Tensor advantage = reward.detach() - baseline();
  for (const Choice& choice : choices) {
    HEED_CHECK(
        choice.logp.sizes() == reward.sizes(),
        "reinforce: the choice '{}' has a log-probability of size {}, the reward is {}; both "
        "must be one number for each entry",
        choice.name, shape_text(choice.logp), shape_text(reward));
    HEED_CHECK(choice.baseline_decay == decay,
               "reinforce: the choice '{}' has the baseline decay {}, '{}' has {}; all choices "
               "share one reward, so the decays must agree",
               choice.name, choice.baseline_decay, choices.front().name, decay);
    total = total - (advantage * choice.logp).mean();
    if (choice.entropy.defined() && choice.entropy_weight > 0) {
      total = total - choice.entropy_weight * choice.entropy.mean();
    }
  }
  torch::NoGradGuard no_grad;
  average_.mul_(decay).add_(reward.mean().to(torch::kFloat64), 1 - decay);
  weight_.mul_(decay).add_(1 - decay);
  return total;
}

}  // namespace heed
