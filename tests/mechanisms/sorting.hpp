#pragma once
#include <torch/optim/adam.h>

#include "heed/mechanisms/pointer.hpp"

namespace heed {

struct SortingTask {
  std::int64_t numbers = 5, dim = 16, steps = 200, batch = 64;
  double lr = 0.01;
  bool repeat = false;
  int seed = 1;
};

/// Trains a pointer network to give the places of random numbers in rising order, then the end; the
/// share of `tests` fresh lists that it then sorts exactly.
inline double learn_to_sort(const SortingTask& task, std::int64_t tests) {
  torch::manual_seed(task.seed);
  const std::int64_t N = task.numbers;
  torch::nn::Linear embed(1, task.dim);
  Pointer pointer(PointerOptions{.key_dim = task.dim, .repeat = task.repeat});
  std::vector<Tensor> parameters = pointer->parameters();
  for (const Tensor& parameter : embed->parameters()) parameters.push_back(parameter);
  torch::optim::Adam adam(parameters, torch::optim::AdamOptions(task.lr));
  const auto lists = [&](std::int64_t count) {
    const Tensor x = torch::rand({count, N, 1});
    const Tensor end = torch::full({count, 1}, N, torch::kInt64);
    const Tensor order = torch::cat({std::get<1>(x.squeeze(-1).sort(1)), end}, 1);
    const Tensor keys = torch::tanh(embed->forward(4 * x - 2));
    return std::pair(Input{.data = keys, .lengths = {}, .name = "numbers"}, order);
  };
  for (std::int64_t step = 0; step < task.steps; ++step) {
    for (auto& group : adam.param_groups()) {  // falls in a straight line to a tenth
      const double done = static_cast<double>(step) / static_cast<double>(task.steps);
      group.options().set_lr(task.lr * (1 - 0.9 * done));
    }
    const auto [keys, order] = lists(task.batch);
    adam.zero_grad();
    (-pointer->log_likelihood(keys, order).mean()).backward();
    adam.step();
  }
  const torch::NoGradGuard no_grad;
  const auto [keys, order] = lists(tests);
  const Tensor found = pointer->greedy(keys, N + 1).places;
  if (found.size(1) != N + 1) return 0;
  return (found == order).all(1).to(torch::kFloat64).mean().item<double>();
}

}  // namespace heed
