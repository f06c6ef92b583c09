// torch.ops.heed.linear_*: the two passes as operators of their own, opaque to torch.compile; their
// shapes for tracing are in _linear.py.
#include <torch/library.h>

#include "heed/attention/linear.hpp"
#include "heed/attention/linear_node.hpp"
#include "heed/base/error.hpp"

namespace heed::linear_ops {
namespace {

using Optional = std::optional<Tensor>;

LinearOptions options_of(const std::string& rule, const Optional& decay, const Optional& beta,
                         const Optional& state, std::optional<double> scale) {
  return {.rule = rule,
          .decay = decay.value_or(Tensor()),
          .beta = beta.value_or(Tensor()),
          .state = state.value_or(Tensor()),
          .scale = scale};
}

Optional present(const Tensor& x) { return x.defined() ? Optional(x) : std::nullopt; }

std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const std::string& rule, const Optional& decay,
                                   const Optional& beta, const Optional& state,
                                   std::optional<double> scale) try {
  const LinearAttendResult r =
      linear_attend_kernel(query, key, value, options_of(rule, decay, beta, state, scale));
  return {r.output, r.state};
} catch (const InputError& error) {
  TORCH_CHECK_VALUE(false, error.what());
}

/// The wanted gradients only, in order.
std::vector<Tensor> backward(const Optional& grad_output, const Optional& grad_state,
                             const Tensor& query, const Tensor& key, const Tensor& value,
                             const std::string& rule, const Optional& decay, const Optional& beta,
                             const Optional& state, std::optional<double> scale,
                             std::array<bool, 6> wanted) try {
  std::vector<Tensor> given;
  for (const Tensor& x : linear_attend_gradients(
           {grad_output.value_or(Tensor()), grad_state.value_or(Tensor())}, query, key, value,
           options_of(rule, decay, beta, state, scale), wanted)) {
    if (x.defined()) given.push_back(x);
  }
  return given;
} catch (const InputError& error) {
  TORCH_CHECK_VALUE(false, error.what());
}

/// Through the dispatcher, so that tracers see both passes.
struct DispatchedPasses {
  static LinearAttendResult forward(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const LinearOptions& o) {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("heed::linear_forward", "")
                               .typed<decltype(linear_ops::forward)>();
    at::AutoDispatchBelowADInplaceOrView below;
    const auto [output, state] =
        op.call(q, k, v, o.rule, present(o.decay), present(o.beta), present(o.state), o.scale);
    return {output, state};
  }

  static std::vector<Tensor> backward(const LinearArrivals& arrivals, const Tensor& q,
                                      const Tensor& k, const Tensor& v, const LinearOptions& o,
                                      const std::array<bool, 6>& wanted) {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("heed::linear_backward", "")
                               .typed<decltype(linear_ops::backward)>();
    const std::vector<Tensor> given =
        op.call(present(arrivals.output), present(arrivals.state), q, k, v, o.rule,
                present(o.decay), present(o.beta), present(o.state), o.scale, wanted);
    std::vector<Tensor> all(6);
    std::size_t next = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      if (wanted[i]) all[i] = given.at(next++);
    }
    return all;
  }
};

std::tuple<Tensor, Tensor> forward_node(const Tensor& query, const Tensor& key, const Tensor& value,
                                        const std::string& rule, const Optional& decay,
                                        const Optional& beta, const Optional& state,
                                        std::optional<double> scale) {
  const LinearAttendResult r = LinearNode<DispatchedPasses>::run(
      query, key, value, options_of(rule, decay, beta, state, scale));
  return {r.output, r.state};
}

std::tuple<Tensor, Tensor> reference(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const std::string& rule, const Optional& decay,
                                     const Optional& beta, const Optional& state,
                                     std::optional<double> scale) try {
  const LinearAttendResult r =
      linear_attend_reference(query, key, value, options_of(rule, decay, beta, state, scale));
  return {r.output, r.state};
} catch (const InputError& error) {
  TORCH_CHECK_VALUE(false, error.what());
}

}  // namespace
}  // namespace heed::linear_ops

TORCH_LIBRARY_FRAGMENT(heed, library) {
  library.def(
      "linear_forward(Tensor query, Tensor key, Tensor value, str rule, Tensor? decay, Tensor? "
      "beta, Tensor? state, float? scale) -> (Tensor, Tensor)");
  library.def(
      "linear_backward(Tensor? grad_output, Tensor? grad_state, Tensor query, Tensor key, Tensor "
      "value, str rule, Tensor? decay, Tensor? beta, Tensor? state, float? scale, bool[6] wanted) "
      "-> Tensor[]");
  library.def(
      "linear_reference(Tensor query, Tensor key, Tensor value, str rule, Tensor? decay, Tensor? "
      "beta, Tensor? state, float? scale) -> (Tensor, Tensor)",
      heed::linear_ops::reference);
}

TORCH_LIBRARY_IMPL(heed, CPU, library) {
  library.impl("linear_forward", heed::linear_ops::forward);
  library.impl("linear_backward", heed::linear_ops::backward);
}

TORCH_LIBRARY_IMPL(heed, Autograd, library) {
  library.impl("linear_forward", heed::linear_ops::forward_node);
}
