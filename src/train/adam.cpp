#include "train/adam.hpp"

#include <ATen/ops/_fused_adamw.h>

#include "heed/base/error.hpp"

namespace heed {

Adam::Adam(const torch::nn::Module& model, double lr, double weight_decay)
    : lr_(lr), weight_decay_(weight_decay) {
  for (const auto& item : model.named_parameters()) {
    names_.push_back(item.key());
    parameters_.push_back(item.value());
    first_.push_back(torch::zeros_like(item.value()));
    second_.push_back(torch::zeros_like(item.value()));
    steps_.push_back(torch::zeros({}));
  }
}

void Adam::step(double clip) {
  torch::NoGradGuard no_grad;
  std::vector<Tensor> parameters, gradients, first, second, steps;
  Tensor square = torch::zeros({}, torch::kFloat64);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor gradient = parameters_[i].grad();
    if (!gradient.defined()) continue;
    square += gradient.norm().to(torch::kFloat64).square();
    parameters.push_back(parameters_[i]);
    gradients.push_back(gradient);
    first.push_back(first_[i]);
    second.push_back(second_[i]);
    steps.push_back(steps_[i]);
    steps_[i] += 1;
  }
  const double norm = std::sqrt(square.item<double>());
  HEED_CHECK(std::isfinite(norm),
             "training diverged: the gradient is not finite; try a smaller train.lr");
  if (clip > 0 && norm > clip) {
    for (Tensor& gradient : gradients) gradient.mul_(clip / norm);
  }
  at::_fused_adamw_(
      parameters, gradients, first, second, /*max_exp_avg_sqs=*/{}, steps, lr_, /*beta1=*/0.9,
      /*beta2=*/0.999, weight_decay_, /*eps=*/1e-8, /*amsgrad=*/false, /*maximize=*/false);
  for (Tensor& parameter : parameters) parameter.mutable_grad() = Tensor();
}

NamedTensors Adam::state() const {
  NamedTensors tensors;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    tensors.emplace_back("adam.first." + names_[i], first_[i]);
    tensors.emplace_back("adam.second." + names_[i], second_[i]);
    tensors.emplace_back("adam.steps." + names_[i], steps_[i]);
  }
  return tensors;
}

void Adam::restore(const std::map<std::string, Tensor>& tensors, const std::string& source) {
  torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : state()) {
    const auto saved = tensors.find(name);
    HEED_CHECK(saved != tensors.end() && saved->second.sizes() == tensor.sizes(),
               "{}: the optimiser's '{}' is missing or of another size", source, name);
    Tensor(tensor).copy_(saved->second);
  }
}

}  // namespace heed
