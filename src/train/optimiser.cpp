#include "train/optimiser.hpp"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>

#include <cmath>
#include <numbers>

#include "heed/base/error.hpp"

namespace heed {

Optimiser::Optimiser(const torch::nn::Module& model, const Config::Train& train) : train_(train) {
  groups_ = {{.lr = train.lr}, {.lr = train.tune_lr > 0 ? train.tune_lr : train.lr}};
  for (const auto& item : model.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    Group& group = groups_[item.key().find(".tuned.") == std::string::npos ? 0 : 1];
    group.names.push_back(item.key());
    group.parameters.push_back(item.value());
    group.first.push_back(torch::zeros_like(item.value()));
    group.second.push_back(train.optimiser == "sgd" ? torch::zeros({0})
                                                    : torch::zeros_like(item.value()));
    group.steps.push_back(torch::zeros({}));
    if (train.average > 0) group.average.push_back(item.value().detach().clone());
  }
}

double Optimiser::gradient_norm() const {
  double square = 0;
  for (const Group& group : groups_) {
    for (const Tensor& parameter : group.parameters) {
      if (!parameter.grad().defined()) continue;
      const double norm = parameter.grad().norm().item<double>();
      square += norm * norm;
    }
  }
  return std::sqrt(square);
}

void Optimiser::step(double factor) {
  torch::NoGradGuard no_grad;
  const double norm = gradient_norm();
  HEED_CHECK(std::isfinite(norm),
             "training diverged: the gradient is not finite; try a smaller train.lr");
  const double scale = train_.clip > 0 && norm > train_.clip ? train_.clip / norm : 1;
  for (Group& group : groups_) {
    update(group, group.lr * factor, scale);
    update_average(group);
  }
}

// Of the first steps the plain mean, or the start would weigh for long.
void Optimiser::update_average(Group& group) {
  for (std::size_t i = 0; i < group.average.size(); ++i) {
    const double steps = group.steps[i].item<double>();
    const double decay = std::min(train_.average, steps / (steps + 10));
    group.average[i].lerp_(group.parameters[i].detach(), 1 - decay);
  }
}

void Optimiser::swap_average() {
  torch::NoGradGuard no_grad;
  for (Group& group : groups_) {
    for (std::size_t i = 0; i < group.average.size(); ++i) {
      const Tensor own = group.parameters[i].detach().clone();
      group.parameters[i].copy_(group.average[i]);
      group.average[i].copy_(own);
    }
  }
}

void Optimiser::update(Group& group, double lr, double scale) {
  std::vector<Tensor> parameters, gradients, first, second, steps;
  for (std::size_t i = 0; i < group.parameters.size(); ++i) {
    const Tensor gradient = group.parameters[i].grad();
    if (!gradient.defined()) continue;
    if (scale != 1) gradient.mul_(scale);
    parameters.push_back(group.parameters[i]);
    gradients.push_back(gradient);
    first.push_back(group.first[i]);
    second.push_back(group.second[i]);
    steps.push_back(group.steps[i]);
    group.steps[i] += 1;
  }
  if (parameters.empty()) return;
  if (train_.optimiser == "sgd") {
    if (train_.momentum == 0) first.clear();
    at::_fused_sgd_(parameters, gradients, first, train_.weight_decay, train_.momentum, lr,
                    /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                    /*is_first_step=*/false);
  } else {
    const auto run = [&](auto fused) {
      fused(parameters, gradients, first, second, at::TensorList{}, steps, lr, /*beta1=*/0.9,
            train_.beta2, train_.weight_decay, /*eps=*/1e-8, /*amsgrad=*/false,
            /*maximize=*/false);
    };
    if (train_.optimiser == "adamw") {
      run([](auto&&... x) { at::_fused_adamw_(std::forward<decltype(x)>(x)...); });
    } else {
      run([](auto&&... x) { at::_fused_adam_(std::forward<decltype(x)>(x)...); });
    }
  }
  for (Tensor& parameter : parameters) parameter.mutable_grad() = Tensor();
}

NamedTensors Optimiser::state() const {
  NamedTensors tensors;
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      tensors.emplace_back("optimiser.first." + group.names[i], group.first[i]);
      tensors.emplace_back("optimiser.second." + group.names[i], group.second[i]);
      tensors.emplace_back("optimiser.steps." + group.names[i], group.steps[i]);
      if (!group.average.empty())
        tensors.emplace_back("optimiser.average." + group.names[i], group.average[i]);
    }
  }
  return tensors;
}

void Optimiser::restore(const std::map<std::string, Tensor>& tensors, const std::string& source) {
  torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : state()) {
    const auto saved = tensors.find(name);
    HEED_CHECK(saved != tensors.end() && saved->second.sizes() == tensor.sizes(),
               "{}: the optimiser's '{}' is missing or of another size", source, name);
    Tensor(tensor).copy_(saved->second);
  }
}

double schedule_factor(const Config::Train& train, std::int64_t step, std::int64_t steps) {
  const auto at = static_cast<double>(step + 1), warmup = static_cast<double>(train.warmup);
  if (at < warmup) return at / warmup;
  const double rest = std::max(1.0, static_cast<double>(steps) - warmup);
  const double done = std::min(1.0, (at - warmup) / rest);
  if (train.schedule == "linear") return 1 - done;
  if (train.schedule == "cosine") return 0.5 * (1 + std::cos(std::numbers::pi * done));
  if (train.schedule == "inverse-sqrt") return std::sqrt(std::max(1.0, warmup) / at);
  return 1;
}

}  // namespace heed
