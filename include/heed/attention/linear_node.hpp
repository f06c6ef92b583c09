#pragma once
#include <torch/csrc/autograd/custom_function.h>

#include "heed/attention/linear.hpp"
#include "heed/base/error.hpp"

namespace heed {

/// A call of linear attention as a node of torch's graph. `Passes` says how the two passes are run,
/// directly or through torch's dispatcher:
///   static LinearAttendResult forward(q, k, v, options);
///   static std::vector<Tensor> backward(arrivals, q, k, v, options, wanted);
/// Nothing but the operands is kept for the backward pass.
template <class Passes>
class LinearNode : public torch::autograd::Function<LinearNode<Passes>> {
 public:
  using Context = torch::autograd::AutogradContext;
  using List = torch::autograd::variable_list;

  static LinearAttendResult run(const Tensor& q, const Tensor& k, const Tensor& v,
                                const LinearOptions& options) {
    const auto present = [](const Tensor& x) {
      return x.defined() ? std::optional(x) : std::nullopt;
    };
    const List results = LinearNode::apply(q, k, v, present(options.decay), present(options.beta),
                                           present(options.state), options.rule, options.scale);
    return {results[0], results[1]};
  }

  static List forward(Context* ctx, const Tensor& q, const Tensor& k, const Tensor& v,
                      const std::optional<Tensor>& decay, const std::optional<Tensor>& beta,
                      const std::optional<Tensor>& state, const std::string& rule,
                      const std::optional<double>& scale) {
    const LinearOptions options{.rule = rule,
                                .decay = decay.value_or(Tensor()),
                                .beta = beta.value_or(Tensor()),
                                .state = state.value_or(Tensor()),
                                .scale = scale};
    ctx->save_for_backward({q, k, v, options.decay, options.beta, options.state});
    ctx->saved_data["rule"] = rule;
    ctx->saved_data["scale"] = scale;
    ctx->set_materialize_grads(false);
    const LinearAttendResult result = Passes::forward(q, k, v, options);
    return {result.output, result.state};
  }

  static List backward(Context* ctx, List arrived) {
    HEED_CHECK(!torch::GradMode::is_enabled(),
               "linear_attend: the kernel has no second derivative; the reference has");
    const auto saved = ctx->get_saved_variables();
    std::size_t edge = 0;  // absent operands have none
    std::array<bool, 6> wanted{};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (saved[i].defined()) wanted[i] = ctx->needs_input_grad(edge++);
    }
    const LinearOptions options{.rule = ctx->saved_data["rule"].toStringRef(),
                                .decay = saved[3],
                                .beta = saved[4],
                                .state = saved[5],
                                .scale = ctx->saved_data["scale"].toOptional<double>()};
    List gradients =
        Passes::backward({arrived[0], arrived[1]}, saved[0], saved[1], saved[2], options, wanted);
    gradients.resize(8);  // rule and scale have none
    return gradients;
  }
};

}  // namespace heed
