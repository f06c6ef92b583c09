// Linear attention over tensors: checks, then the kernel or the reference.
#include "heed/attention/linear.hpp"

#include <cmath>

#include "attention/kernel_call.hpp"
#include "heed/attention/linear_node.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/kernels/linear.hpp"

namespace heed {
namespace linear {
namespace {

using kernels::LinearRule;

LinearRule rule_of(const std::string& id) {
  const std::pair<const char*, LinearRule> rules[] = {{"linear", LinearRule::linear},
                                                      {"gated", LinearRule::gated},
                                                      {"delta", LinearRule::delta},
                                                      {"gated-delta", LinearRule::gated_delta}};
  std::vector<std::string> words;
  for (const auto& [word, rule] : rules) {
    if (id == word) return rule;
    words.emplace_back(word);
  }
  throw InputError(fmt::format("linear_attend: rule is '{}'{}", id, suggestion(id, words)));
}

torch::ScalarType working_type(const Tensor& key) { return heed::working_type(key.scalar_type()); }

void check_operand(const char* name, const Tensor& x, const Tensor& key) {
  HEED_CHECK(x.dim() == 4, "linear_attend: {} is {}; needed is batch×heads×length×width", name,
             shape_text(x));
  HEED_CHECK(kernel_type(x.scalar_type()),
             "linear_attend: {} has type {}; float32, float64, bfloat16 or float16 is needed", name,
             torch::toString(x.scalar_type()));
  HEED_CHECK(x.scalar_type() == key.scalar_type(),
             "linear_attend: {} has type {}, key has type {}; they must agree", name,
             torch::toString(x.scalar_type()), torch::toString(key.scalar_type()));
  HEED_CHECK(x.device() == key.device(),
             "linear_attend: {} is on {}, key is on {}; they must agree", name, x.device().str(),
             key.device().str());
}

/// Decay and beta: there when, and only when, the rule uses them.
void check_gate(const char* name, const Tensor& x, bool used, const std::string& rule,
                const Tensor& key) {
  HEED_CHECK(used || !x.defined(), "linear_attend: rule '{}' takes no {}", rule, name);
  HEED_CHECK(!used || x.defined(), "linear_attend: rule '{}' needs {}", rule, name);
  if (!used) return;
  HEED_CHECK(x.scalar_type() == key.scalar_type() || x.scalar_type() == working_type(key),
             "linear_attend: {} has type {}, key has type {}; {} must have key's type or {}", name,
             torch::toString(x.scalar_type()), torch::toString(key.scalar_type()), name,
             torch::toString(working_type(key)));
  HEED_CHECK(x.device() == key.device(),
             "linear_attend: {} is on {}, key is on {}; they must agree", name, x.device().str(),
             key.device().str());
}

/// Checks all of a call; returns its rule.
LinearRule check_call(const Tensor& q, const Tensor& k, const Tensor& v, const LinearOptions& o) {
  HEED_CHECK(q.defined() && k.defined() && v.defined(),
             "linear_attend: query, key and value are needed");
  check_operand("key", k, k);
  check_operand("query", q, k);
  check_operand("value", v, k);
  HEED_CHECK(k.sizes().slice(0, 3) == v.sizes().slice(0, 3),
             "linear_attend: key is {}, value is {}; batch, heads and length must agree",
             shape_text(k), shape_text(v));
  HEED_CHECK(q.size(0) == k.size(0) && q.size(2) == k.size(2) && q.size(3) == k.size(3),
             "linear_attend: query is {}, key is {}; batch, length and width must agree",
             shape_text(q), shape_text(k));
  HEED_CHECK(k.size(1) > 0 ? q.size(1) % k.size(1) == 0 : q.size(1) == 0,
             "linear_attend: query is {}, key is {}; query heads must be a multiple of key heads",
             shape_text(q), shape_text(k));
  const LinearRule rule = rule_of(o.rule);
  check_gate("decay", o.decay, has_decay(rule), o.rule, k);
  check_gate("beta", o.beta, has_beta(rule), o.rule, k);
  HEED_CHECK(!o.decay.defined() ||
                 (o.decay.dim() == 4 && o.decay.sizes().slice(0, 3) == k.sizes().slice(0, 3) &&
                  (o.decay.size(3) == 1 || o.decay.size(3) == k.size(3))),
             "linear_attend: decay is {}, key is {}; decay must have key's shape, or width 1",
             shape_text(o.decay), shape_text(k));
  HEED_CHECK(!o.beta.defined() || o.beta.sizes() == k.sizes().slice(0, 3),
             "linear_attend: beta is {}, key is {}; beta must be batch×heads×length of key",
             shape_text(o.beta), shape_text(k));
  if (o.state.defined()) {
    HEED_CHECK(o.state.sizes() == torch::IntArrayRef({k.size(0), k.size(1), k.size(3), v.size(3)}),
               "linear_attend: state is {}; needed is batch×heads×d_k×d_v = {}×{}×{}×{}",
               shape_text(o.state), k.size(0), k.size(1), k.size(3), v.size(3));
    HEED_CHECK(o.state.scalar_type() == working_type(k),
               "linear_attend: state has type {}; with {} inputs it must be {}",
               torch::toString(o.state.scalar_type()), torch::toString(k.scalar_type()),
               torch::toString(working_type(k)));
    HEED_CHECK(o.state.device() == k.device(),
               "linear_attend: state is on {}, key is on {}; they must agree",
               o.state.device().str(), k.device().str());
  }
  HEED_CHECK(!o.scale || std::isfinite(*o.scale), "linear_attend: scale is {}; it must be finite",
             *o.scale);
  return rule;
}

double scale_of(const Tensor& key, const LinearOptions& o) {
  const auto width = static_cast<double>(std::max<std::int64_t>(key.size(3), 1));
  return o.scale.value_or(1 / std::sqrt(width));
}

kernels::Input input(const Tensor& x) {
  if (!x.defined()) return {};
  kernels::Input result{x.const_data_ptr(), {}};
  for (std::int64_t i = 0; i < x.dim(); ++i) {
    result.stride[static_cast<std::size_t>(i)] = x.stride(i);
  }
  return result;
}

kernels::Output output(Tensor& x) {
  const kernels::Input place = input(x);
  return {x.defined() ? x.mutable_data_ptr() : nullptr, place.stride};
}

kernels::LinearProblem problem_of(const Tensor& q, const Tensor& k, const Tensor& v,
                                  const LinearOptions& o) {
  const LinearRule rule = check_call(q, k, v, o);
  HEED_CHECK(k.device().is_cpu(), "linear_attend: the kernel runs on the CPU, key is on {}",
             k.device().str());
  kernels::LinearProblem p{.type = *kernel_type(k.scalar_type()),
                           .rule = rule,
                           .batch = k.size(0),
                           .heads = q.size(1),
                           .kv_heads = k.size(1),
                           .length = k.size(2),
                           .width = k.size(3),
                           .value_width = v.size(3),
                           .query = input(q),
                           .key = input(k),
                           .value = input(v),
                           .decay = input(o.decay),
                           .beta = input(o.beta),
                           .state = input(o.state),
                           .scale = scale_of(k, o)};
  if (o.decay.defined()) {
    p.decay_width = o.decay.size(3);
    p.decay_type = *kernel_type(o.decay.scalar_type());
  }
  if (o.beta.defined()) p.beta_type = *kernel_type(o.beta.scalar_type());
  return p;
}

struct DirectPasses {
  static LinearAttendResult forward(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const LinearOptions& o) {
    return linear_attend_kernel(q, k, v, o);
  }
  static std::vector<Tensor> backward(const LinearArrivals& arrivals, const Tensor& q,
                                      const Tensor& k, const Tensor& v, const LinearOptions& o,
                                      const std::array<bool, 6>& wanted) {
    return linear_attend_gradients(arrivals, q, k, v, o, wanted);
  }
};

}  // namespace
}  // namespace linear

LinearAttendResult linear_attend_kernel(const Tensor& q, const Tensor& k, const Tensor& v,
                                        const LinearOptions& options) {
  const kernels::LinearProblem problem = linear::problem_of(q, k, v, options);
  LinearAttendResult result{torch::empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q.options()),
                            torch::empty({k.size(0), k.size(1), k.size(3), v.size(3)},
                                         k.options().dtype(linear::working_type(k)))};
  kernels::linear_forward(
      problem, {.out = linear::output(result.output), .state = linear::output(result.state)});
  return result;
}

std::vector<Tensor> linear_attend_gradients(const LinearArrivals& arrivals, const Tensor& q,
                                            const Tensor& k, const Tensor& v,
                                            const LinearOptions& options,
                                            const std::array<bool, 6>& wanted) {
  const kernels::LinearProblem problem = linear::problem_of(q, k, v, options);
  const auto working = linear::working_type(k);
  const Tensor operands[] = {q, k, v, options.decay, options.beta, options.state};
  std::vector<Tensor> to(6);
  for (std::size_t i = 0; i < 6; ++i) {
    if (!wanted[i]) continue;
    const auto type = i < 3 ? k.scalar_type() : working;
    to[i] = torch::empty(operands[i].sizes(), operands[i].options().dtype(type));
  }
  const auto as = [](const Tensor& x, torch::ScalarType type) {
    return x.defined() ? x.to(type) : x;
  };
  const Tensor out = as(arrivals.output, k.scalar_type()), state = as(arrivals.state, working);
  kernels::linear_backward(problem, {.out = linear::input(out), .state = linear::input(state)},
                           {.query = linear::output(to[0]),
                            .key = linear::output(to[1]),
                            .value = linear::output(to[2]),
                            .decay = linear::output(to[3]),
                            .beta = linear::output(to[4]),
                            .state = linear::output(to[5])});
  for (std::size_t i = 0; i < 6; ++i) {
    if (to[i].defined()) to[i] = to[i].to(operands[i].scalar_type());
  }
  return to;
}

LinearAttendResult linear_attend_reference(const Tensor& query, const Tensor& key,
                                           const Tensor& value, const LinearOptions& options) {
  linear::check_call(query, key, value, options);
  const auto working = linear::working_type(key);
  const std::int64_t B = key.size(0), G = key.size(1), L = key.size(2), D = key.size(3),
                     V = value.size(3), H = query.size(1);
  const auto as = [&](const Tensor& x) { return x.defined() ? x.to(working) : x; };
  const Tensor q = as(query).reshape({B, G, G > 0 ? H / G : 0, L, D}), k = as(key), v = as(value);
  const Tensor decay = as(options.decay), beta = as(options.beta);
  Tensor state = options.state.defined() ? options.state.clone() : k.new_zeros({B, G, D, V});
  std::vector<Tensor> steps;
  for (std::int64_t t = 0; t < L; ++t) {
    const Tensor column = k.select(2, t).unsqueeze(-1);  // [B, G, D, 1]
    Tensor write = v.select(2, t).unsqueeze(-2);         // [B, G, 1, V]
    if (decay.defined()) state = state * decay.select(2, t).exp().unsqueeze(-1);
    if (beta.defined()) {
      const Tensor held = (state * column).sum(-2, /*keepdim=*/true);
      write = beta.select(2, t).unsqueeze(-1).unsqueeze(-1) * (write - held);
    }
    state = state + column * write;
    steps.push_back(torch::matmul(q.select(3, t), state));
  }
  const double scale = linear::scale_of(key, options);
  const Tensor output =
      L == 0 ? k.new_zeros({B, H, 0, V}) : (torch::stack(steps, 3) * scale).reshape({B, H, L, V});
  return {output.to(query.scalar_type()), state};
}

LinearAttendResult linear_attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                 const LinearOptions& options) {
  HEED_CHECK(options.kernel != Kernel::unfused,
             "linear_attend: kernel 'unfused' does not exist; 'fused' and 'reference' do");
  linear::check_call(query, key, value, options);
  const bool on_cpu = key.device().is_cpu();
  if (options.kernel == Kernel::reference || (options.kernel == Kernel::automatic && !on_cpu)) {
    return linear_attend_reference(query, key, value, options);
  }
  return LinearNode<linear::DirectPasses>::run(query, key, value, options);
}

}  // namespace heed
