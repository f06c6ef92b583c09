#pragma once
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>

#include "heed/attention/tensor.hpp"

namespace heed {

/// Holds the gradients of Σ f() ∘ r, r fixed and random, against central differences in float64,
/// element by element. `f` reads the leaves; one it does not use must make no difference. Of a leaf
/// with more than `most` elements, about so many are checked, evenly spread.
inline void check_leaf_gradients(const std::function<Tensor()>& f, std::vector<Tensor> leaves,
                                 const std::string& what, std::int64_t most = INT64_MAX) {
  torch::manual_seed(11);
  const Tensor r = torch::randn_like(f());
  const auto loss = [&] { return (f() * r).sum(); };
  const auto gradients =
      torch::autograd::grad({loss()}, leaves, {}, {}, false, /*allow_unused=*/true);
  constexpr double kStep = 1e-5;
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    Tensor flat = leaves[i].view({-1});
    const Tensor gradient =
        gradients[i].defined() ? gradients[i].reshape({-1}) : torch::zeros_like(flat);
    const std::int64_t stride = std::max<std::int64_t>(flat.numel() / most, 1);
    for (std::int64_t j = 0; j < flat.numel(); j += stride) {
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

/// The same for a function of its inputs. No gradient counts as 0.
inline void check_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                            std::vector<Tensor> inputs, const std::string& what) {
  for (Tensor& input : inputs) input = input.detach().clone().set_requires_grad(true);
  check_leaf_gradients([&] { return f(inputs); }, inputs, what);
}

}  // namespace heed
