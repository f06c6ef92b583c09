#include "attention/fused.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include "heed/base/error.hpp"
#include "heed/kernels/attention.hpp"

namespace heed {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::optional<kernels::Type> kernel_type(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat32:
      return kernels::Type::float32;
    case torch::kFloat64:
      return kernels::Type::float64;
    case torch::kBFloat16:
      return kernels::Type::bfloat16;
    case torch::kFloat16:
      return kernels::Type::float16;
    default:
      return std::nullopt;
  }
}

torch::ScalarType working_type(torch::ScalarType type) {
  return type == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

// Strides of a rank-4 tensor; 0 along an axis of size 1, which the kernel broadcasts.
std::array<std::int64_t, 4> strides(const Tensor& x) {
  std::array<std::int64_t, 4> result{};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    result[i] = x.size(axis) == 1 ? 0 : x.stride(axis);
  }
  return result;
}

kernels::Input input(const Tensor& x) {
  return x.defined() ? kernels::Input{x.const_data_ptr(), strides(x)} : kernels::Input{};
}

kernels::Output output(Tensor& x) {
  return x.defined() ? kernels::Output{x.mutable_data_ptr(), strides(x)} : kernels::Output{};
}

/// The tensors a gradient may flow to.
struct Operands {
  Tensor query, key, value, bias, sink;
};

kernels::AttentionProblem problem_of(const CheckedCall& call, const Operands& x) {
  const Visibility& see = call.visibility;
  kernels::AttentionProblem p;
  p.type = *kernel_type(x.query.scalar_type());
  p.batch = see.B, p.heads = see.H, p.kv_heads = x.key.size(1);
  p.queries = see.Q, p.keys = see.K, p.width = x.key.size(3), p.value_width = x.value.size(3);
  p.query = input(x.query), p.key = input(x.key), p.value = input(x.value);
  p.scale = call.scale;
  p.softcap = call.softcap.value_or(0);
  p.bias = input(x.bias);
  if (x.bias.defined()) p.bias_type = *kernel_type(x.bias.scalar_type());
  if (call.alibi.defined()) p.alibi_slopes = call.alibi.const_data_ptr<float>();
  p.mask = input(see.mask);
  switch (see.causal.corner) {
    case Causal::Corner::none:
      break;
    case Causal::Corner::bottom_right:
      p.causal = kernels::Causal::bottom_right;
      break;
    default:
      p.causal = kernels::Causal::offset, p.offset = see.causal.offset;
  }
  if (see.window) p.window_left = (*see.window)[0], p.window_right = (*see.window)[1];
  if (see.lengths.defined()) p.lengths = see.lengths.const_data_ptr<std::int64_t>();
  if (x.sink.defined()) p.sink = x.sink.const_data_ptr();
  p.dropout = call.dropout_p;
  p.seed = call.seed;
  return p;
}

/// One attention call as a node of torch's graph.
class FusedDot : public torch::autograd::Function<FusedDot> {
 public:
  /// Output, log-sum-exp and the rows' state; only the first has a gradient.
  static variable_list forward(AutogradContext* ctx, const Tensor& q, const Tensor& k,
                               const Tensor& v, const std::optional<Tensor>& given_bias,
                               const std::optional<Tensor>& given_sink,
                               const std::shared_ptr<CheckedCall>& call) {
    const Tensor bias = given_bias.value_or(Tensor()), sink = given_sink.value_or(Tensor());
    const Visibility& see = call->visibility;
    const auto working = q.options().dtype(working_type(q.scalar_type()));
    Tensor out = torch::empty({see.B, see.H, see.Q, v.size(3)}, q.options());
    const Tensor state = torch::empty({see.B, see.H, see.Q, 2}, working);
    const Tensor lse = torch::empty({see.B, see.H, see.Q}, torch::kFloat32);
    kernels::attention_forward(problem_of(*call, {q, k, v, bias, sink}),
                               {.out = output(out),
                                .lse = lse.mutable_data_ptr<float>(),
                                .state = state.mutable_data_ptr()});
    ctx->save_for_backward({q, k, v, bias, sink, out, state});
    ctx->saved_data["call"] = c10::IValue::make_capsule(c10::make_intrusive<Holder>(call));
    ctx->mark_non_differentiable({lse, state});
    return {out, lse, state};
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    HEED_CHECK(!torch::GradMode::is_enabled(),
               "attend: the fused kernel has no second derivative; kernel='reference' has");
    const auto saved = ctx->get_saved_variables();
    const auto held = ctx->saved_data["call"].toCapsule();
    const auto& call = static_cast<const Holder&>(*held).call;
    const Operands x{saved[0], saved[1], saved[2], saved[3], saved[4]};
    std::size_t edge = 0;  // absent operands have none
    const auto wanted = [&](const Tensor& like, torch::ScalarType type) {
      if (!like.defined() || !ctx->needs_input_grad(edge++)) return Tensor();
      return torch::empty(like.sizes(), like.options().dtype(type));
    };
    const auto type = x.query.scalar_type(), working = working_type(type);
    Tensor dq = wanted(x.query, type), dk = wanted(x.key, type), dv = wanted(x.value, type);
    Tensor dbias = wanted(x.bias, working), dsink = wanted(x.sink, working);
    const Tensor grad_out = gradients[0].to(x.query.scalar_type());
    kernels::attention_backward(
        problem_of(*call, x),
        {.out = input(saved[5]), .grad_out = input(grad_out), .state = saved[6].const_data_ptr()},
        {.query = output(dq),
         .key = output(dk),
         .value = output(dv),
         .bias = output(dbias),
         .sink = dsink.defined() ? dsink.mutable_data_ptr() : nullptr});
    if (dbias.defined()) dbias = dbias.to(x.bias.scalar_type());
    return {dq, dk, dv, dbias, dsink, Tensor()};
  }

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<CheckedCall> held) : call(std::move(held)) {}
    std::shared_ptr<CheckedCall> call;
  };
};

bool wants_anything(const Want& want) {
  return want.weights || want.scores || want.lse || want.entropy || want.received ||
         want.topk > 0 || !want.rows.empty();
}

bool needs_gradient(const CheckedCall& call) {
  if (!torch::GradMode::is_enabled()) return false;
  bool needs = call.query.requires_grad() || call.key.requires_grad() || call.value.requires_grad();
  for (const Tensor& x : {call.visibility.bias, call.sink})
    needs |= x.defined() && x.requires_grad();
  for (const auto& [name, x] : call.score_params) needs |= x.requires_grad();
  return needs;
}

/// What was asked beside the output, by one more pass over the scores.
void look_at_weights(const CheckedCall& call, const Operands& x, const Tensor& state,
                     AttendResult& result) {
  const Want& want = call.want;
  const Visibility& see = call.visibility;
  const auto working = state.options();
  const auto pairs = [&](std::int64_t rows) {
    return torch::empty({see.B, see.H, rows, see.K}, working);
  };
  const kernels::AttentionProblem problem = problem_of(call, x);
  const auto given = call.value.scalar_type();
  Tensor weights, scores;
  if (want.weights || want.topk > 0) weights = pairs(see.Q);
  if (want.scores) scores = pairs(see.Q);
  kernels::WeightsResult wanted{.weights = output(weights), .scores = output(scores)};
  const auto floats = torch::TensorOptions(torch::kFloat32);
  if (want.entropy) {
    result.entropy = torch::empty({see.B, see.H, see.Q}, floats);
    wanted.entropy = result.entropy.mutable_data_ptr<float>();
  }
  if (want.received) {
    result.received = torch::empty({see.B, see.H, see.K}, floats);
    wanted.received = result.received.mutable_data_ptr<float>();
  }
  kernels::attention_weights(problem, state.const_data_ptr(), wanted);
  if (want.scores) result.scores = scores.to(given);
  if (want.weights) result.weights = weights.to(given);
  if (want.topk > 0) take_top_keys(weights, want.topk, given, result);
  if (!want.rows.empty()) {
    Tensor chosen = pairs(static_cast<std::int64_t>(want.rows.size()));
    kernels::attention_weights(problem, state.const_data_ptr(),
                               {.weights = output(chosen),
                                .rows = want.rows.data(),
                                .row_count = static_cast<std::int64_t>(want.rows.size())});
    result.rows = chosen.to(given);
  }
}

}  // namespace

Reasons fused_unsupported(const CheckedCall& call) {
  Reasons reasons;
  if (call.weights.defined()) reasons.push_back("the weights are given");
  if (!call.query.defined()) reasons.push_back("there is no query");
  if (!call.score->dot_form()) reasons.push_back("the score has no dot form");
  if (!call.align->plain_softmax()) reasons.push_back("the alignment is not a plain softmax");
  if (!call.key.device().is_cpu()) reasons.push_back("the tensors are not on the CPU");
  if (!kernel_type(call.key.scalar_type())) reasons.push_back("the type has no kernel");
  const Tensor& bias = call.visibility.bias;
  if (bias.defined() && !kernel_type(bias.scalar_type()))
    reasons.push_back("the bias's type has no kernel");
  if (call.alibi.defined() && call.alibi.requires_grad())
    reasons.push_back("the slopes need a gradient");
  return reasons;
}

AttendResult attend_fused(const CheckedCall& call) {
  const auto working = working_type(call.key.scalar_type());
  const auto [q, k] = call.score->dot_operands(call.query, call.key, call.score_params);
  const Tensor sink = call.sink.defined() ? call.sink.to(working).contiguous() : Tensor();
  // The graph's node outlives this call: it keeps what decides visibility, not the operands again.
  auto kept = std::make_shared<CheckedCall>();
  kept->visibility = call.visibility;
  kept->visibility.bias = Tensor();
  if (call.alibi.defined()) kept->alibi = call.alibi.to(torch::kFloat32).contiguous();
  kept->scale = call.scale;
  kept->softcap = call.softcap;
  kept->dropout_p = call.dropout_p;
  kept->seed = call.seed;
  const auto present = [](const Tensor& x) {
    return x.defined() ? std::optional(x) : std::nullopt;
  };
  const variable_list run =
      FusedDot::apply(q, k, call.value, present(call.visibility.bias), present(sink), kept);

  AttendResult result;
  if (wants_anything(call.want)) {
    if (needs_gradient(call)) {
      result = attend_reference(call);
    } else {
      result.lse = call.want.lse ? run[1] : Tensor();
      kept->want = call.want;
      kept->value = call.value;
      look_at_weights(*kept, {q, k, call.value, call.visibility.bias, sink}, run[2], result);
    }
  }
  result.output = run[0];
  return result;
}

}  // namespace heed
