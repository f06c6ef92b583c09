#include "models/word_loss.hpp"

#include <torch/csrc/autograd/custom_function.h>

namespace heed {
namespace {

constexpr std::int64_t kStretch = 64;  // rows whose scores stay in the cache

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <class Visit>
void for_stretches(std::int64_t rows, const Visit& visit) {
  for (std::int64_t first = 0; first < rows; first += kStretch)
    visit(first, std::min(kStretch, rows - first));
}

class WordLoss : public torch::autograd::Function<WordLoss> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& states, const Tensor& table,
                        const Tensor& bias, const Tensor& right, double smoothing) {
    const std::int64_t M = states.size(0);
    const Tensor scores = torch::empty({M, table.size(0)}, states.options());
    const Tensor whole = torch::empty({M}, states.options());
    Tensor losses = torch::empty({M}, states.options());
    const Tensor across = table.t();
    for_stretches(M, [&](std::int64_t first, std::int64_t n) {
      Tensor part = scores.narrow(0, first, n);
      torch::addmm_out(part, bias, states.narrow(0, first, n), across);
      const Tensor top = part.amax(1, /*keepdim=*/true);
      const Tensor lse = (part - top).exp_().sum(1).log_().add_(top.squeeze(1));
      const Tensor of_right = part.gather(1, right.narrow(0, first, n).unsqueeze(1)).squeeze(1);
      Tensor loss = lse - (1 - smoothing) * of_right;
      if (smoothing > 0) loss -= smoothing * part.mean(1);
      whole.narrow(0, first, n).copy_(lse);
      losses.narrow(0, first, n).copy_(loss);
    });
    ctx->save_for_backward({states, table, right, whole});
    ctx->saved_data["scores"] = scores;
    ctx->saved_data["smoothing"] = smoothing;
    return losses;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &states = saved[0], &table = saved[1], &right = saved[2], &whole = saved[3];
    const double smoothing = ctx->saved_data["smoothing"].toDouble();
    const Tensor scores = ctx->saved_data["scores"].toTensor();
    // The scores are turned into their own gradient, which can be done once.
    ctx->saved_data.erase("scores");
    const Tensor gradient = gradients[0].contiguous();
    Tensor of_states = torch::empty_like(states), of_table = torch::zeros_like(table),
           of_bias = torch::zeros({table.size(0)}, table.options());
    for_stretches(states.size(0), [&](std::int64_t first, std::int64_t n) {
      Tensor part = scores.narrow(0, first, n);
      part.sub_(whole.narrow(0, first, n).unsqueeze(1)).exp_();
      if (smoothing > 0) part.sub_(smoothing / static_cast<double>(part.size(1)));
      const Tensor place = right.narrow(0, first, n).unsqueeze(1);
      part.scatter_add_(1, place, torch::full({n, 1}, smoothing - 1, part.options()));
      part.mul_(gradient.narrow(0, first, n).unsqueeze(1));
      Tensor rows = of_states.narrow(0, first, n);
      torch::mm_out(rows, part, table);
      of_table.addmm_(part.t(), states.narrow(0, first, n));
      of_bias.add_(part.sum(0));
    });
    return {of_states, of_table, of_bias, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor word_loss(const Tensor& states, const Tensor& table, const Tensor& bias, const Tensor& right,
                 double smoothing) {
  return WordLoss::apply(states.to(torch::kFloat32), table, bias, right, smoothing);
}

}  // namespace heed
