#include "heed/attention/align.hpp"

#include <limits>

#include "heed/attention/registry.hpp"

namespace heed {

Tensor both(const Tensor& keep, const Tensor& also) {
  if (!keep.defined()) return also;
  return also.defined() ? keep.logical_and(also) : keep;
}

OptionInfo entropy_option() {
  return {.name = "entropy",
          .fallback = 0.0,
          .doc = "weight of the choice's entropy in the training loss: above 0 it explores longer",
          .min = 0,
          .max = 1e6};
}

OptionInfo baseline_option() {
  return {.name = "baseline",
          .fallback = 0.9,
          .doc = "decay of the moving average that the reward is held against",
          .min = 0,
          .max = 0.999999};
}

ChoiceLearning choice_learning(const Options& options) {
  return {.entropy = get<double>(options, "entropy"), .baseline = get<double>(options, "baseline")};
}

Aligned masked_softmax(const Tensor& scores, const Tensor& keep, const Tensor& sink) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  if (scores.size(-1) == 0) {  // no keys: every row is empty
    return {.weights = scores, .lse = torch::full_like(scores.sum(-1), kNever)};
  }
  Tensor e = scores;
  // An empty row is decided on the mask; it gets harmless scores here and zeros below, so that
  // neither its values nor its gradients meet 0/0.
  Tensor some;
  if (keep.defined()) {
    some = keep.any(-1, true).expand({e.size(0), e.size(1), e.size(2), 1});
    e = torch::where(some, torch::where(keep, e, kNever), 0.0);
  }
  if (sink.defined()) {
    const Tensor logit = sink.to(e.dtype()).view({1, -1, 1, 1});
    e = torch::cat({e, logit.expand({e.size(0), -1, e.size(2), 1})}, -1);
  }
  Aligned out{.weights = torch::softmax(e, -1), .lse = torch::logsumexp(e, -1)};
  if (sink.defined()) out.weights = out.weights.narrow(-1, 0, e.size(-1) - 1);
  if (keep.defined()) {
    out.weights = torch::where(keep, out.weights, 0.0);
    out.lse = torch::where(some.squeeze(-1), out.lse, kNever);
  }
  return out;
}

}  // namespace heed
