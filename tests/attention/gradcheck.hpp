#pragma once
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>

#include "heed/attention/tensor.hpp"

namespace heed {

/// Holds the gradients of Σ f(inputs) ∘ r, r fixed and random, against central differences in
/// float64, element by element. Every input must be a float64 leaf. No gradient counts as 0.
inline void check_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                            std::vector<Tensor> inputs, const std::string& what) {
  for (Tensor& input : inputs) input = input.detach().clone().set_requires_grad(true);
  torch::manual_seed(11);
  const Tensor first = f(inputs);
  const Tensor r = torch::randn_like(first);
  const auto loss = [&] { return (f(inputs) * r).sum(); };
  const auto gradients =
      torch::autograd::grad({loss()}, inputs, {}, {}, false, /*allow_unused=*/true);
  constexpr double kStep = 1e-5;
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor flat = inputs[i].view({-1});
    const Tensor gradient =
        gradients[i].defined() ? gradients[i].reshape({-1}) : torch::zeros_like(flat);
    for (std::int64_t j = 0; j < flat.numel(); ++j) {
      const double kept = flat[j].item<double>();
      flat[j] = kept + kStep;
      const double above = loss().item<double>();
      flat[j] = kept - kStep;
      const double below = loss().item<double>();
      flat[j] = kept;
      const double expected = (above - below) / (2 * kStep);
      EXPECT_NEAR(gradient[j].item<double>(), expected, 1e-7 + 1e-6 * std::abs(expected))
          << what << ": input " << i << ", element " << j;
    }
  }
}

}  // namespace heed
