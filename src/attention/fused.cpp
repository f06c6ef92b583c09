#include "attention/fused.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include "heed/base/error.hpp"

namespace heed {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The tensors a gradient may flow to; `bias` and what follows may be undefined.
struct Operands {
  Tensor query, key, value, bias, sink;
  Tensor weight;         // w of additive scores
  Tensor alpha, center;  // of the alignment
  Tensor row_bias;       // of the score

  static constexpr std::size_t kCount = 9;
  std::array<Tensor, kCount> all() const {
    return {query, key, value, bias, sink, weight, alpha, center, row_bias};
  }
  static Operands from(const variable_list& x) {
    return {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]};
  }
};

kernels::Activation activation(const std::string& act) {
  const std::map<std::string, kernels::Activation> kinds = {
      {"tanh", kernels::Activation::tanh},
      {"relu", kernels::Activation::relu},
      {"gelu", kernels::Activation::gelu},
      {"sigmoid", kernels::Activation::sigmoid},
      {"identity", kernels::Activation::identity}};
  return kinds.at(act);
}

void set_align(const AlignForm& form, kernels::AttentionProblem& p) {
  constexpr kernels::Align kKinds[] = {kernels::Align::soft,     kernels::Align::sparsemax,
                                       kernels::Align::entmax15, kernels::Align::entmax,
                                       kernels::Align::sigmoid,  kernels::Align::top_k,
                                       kernels::Align::hard,     kernels::Align::local_p};
  p.align = kKinds[static_cast<std::size_t>(form.kind)];
  p.top = form.top, p.sample = form.sample, p.straight_through = form.straight_through;
  p.reach = form.reach;
  if (form.window < 0) return;
  const auto narrower = [&](std::int64_t side) {
    return side < 0 ? form.window : std::min(side, form.window);
  };
  p.window_left = narrower(p.window_left), p.window_right = narrower(p.window_right);
}

kernels::AttentionProblem problem_of(const FusedPlan& plan, const Operands& x) {
  kernels::AttentionProblem p = plan.problem(x.query, x.key, x.value);
  if (x.weight.defined()) {
    p.weight = x.weight.const_data_ptr();
    p.weight_stride = x.weight.dim() == 2 ? x.weight.stride(0) : 0;
  }
  if (x.sink.defined()) p.sink = x.sink.const_data_ptr();
  if (x.alpha.defined()) p.alpha = x.alpha.const_data_ptr();
  if (x.center.defined()) p.center = kernel_input(x.center.unsqueeze(-1));
  if (x.row_bias.defined()) p.row_bias = kernel_input(x.row_bias.unsqueeze(-1));
  if (x.bias.defined()) {
    p.bias = kernel_input(x.bias);
    p.bias_type = *kernel_type(x.bias.scalar_type());
  }
  return p;
}

struct Holder : torch::CustomClassHolder {
  explicit Holder(std::shared_ptr<FusedPlan> kept) : plan(std::move(kept)) {}
  std::shared_ptr<FusedPlan> plan;
};

/// One attention call as a node of torch's graph.
class FusedAttention : public torch::autograd::Function<FusedAttention> {
 public:
  /// Output, log-sum-exp, log-probability and the rows' state. The first has a gradient, the second
  /// too where the kernel can give it, the third for hard alignments.
  static variable_list forward(
      AutogradContext* ctx, const Tensor& q, const Tensor& k, const Tensor& v,
      const std::optional<Tensor>& bias, const std::optional<Tensor>& sink,
      const std::optional<Tensor>& weight, const std::optional<Tensor>& alpha,
      const std::optional<Tensor>& center, const std::optional<Tensor>& row_bias,
      const std::shared_ptr<FusedPlan>& plan, bool trains, bool looked_at) {
    const auto or_none = [](const std::optional<Tensor>& x) { return x.value_or(Tensor()); };
    const Operands x{q,
                     k,
                     v,
                     or_none(bias),
                     or_none(sink),
                     or_none(weight),
                     or_none(alpha),
                     or_none(center),
                     or_none(row_bias)};
    const kernels::AttentionProblem problem = problem_of(*plan, x);
    const auto working = q.options().dtype(working_type(q.scalar_type()));
    // A packed batch is one entry of all rows here.
    const std::int64_t B = q.size(0), H = plan->visibility.H, Q = q.size(2);
    const std::array<std::int64_t, 4> shape{B, H, Q, v.size(3)};
    Tensor out = torch::empty(shape, q.options()), mean, drift;
    if (trains && kernels::needs_mean(problem)) mean = torch::empty(shape, working);
    if (trains && (x.alpha.defined() || x.center.defined())) drift = torch::empty(shape, working);
    const bool keeps = trains || looked_at;
    const Tensor state = torch::empty({keeps ? B : 0, H, Q, kernels::kRowState}, working);
    const Tensor lse = torch::empty({B, H, Q}, torch::kFloat32);
    const bool hard = plan->align.kind == AlignForm::Kind::hard;
    const Tensor logp = hard ? torch::empty_like(lse) : torch::empty({0});
    kernels::attention_forward(problem, {.out = kernel_output(out),
                                         .lse = lse.mutable_data_ptr<float>(),
                                         .state = keeps ? state.mutable_data_ptr() : nullptr,
                                         .mean = kernel_output(mean),
                                         .drift = kernel_output(drift),
                                         .logp = hard ? logp.mutable_data_ptr<float>() : nullptr});
    const auto all = x.all();
    variable_list saved(all.begin(), all.end());
    saved.insert(saved.end(), {out, state, mean, drift});
    ctx->save_for_backward(saved);
    ctx->saved_data["plan"] = hold(plan);
    ctx->set_materialize_grads(false);
    const bool open = plan->align.kind == AlignForm::Kind::soft ||
                      plan->align.kind == AlignForm::Kind::top_k ||
                      plan->align.kind == AlignForm::Kind::local_p;
    variable_list fixed = {state};
    if (!open) fixed.push_back(lse);
    if (!hard) fixed.push_back(logp);
    ctx->mark_non_differentiable(fixed);
    return {out, lse, logp, state};
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    HEED_CHECK(!torch::GradMode::is_enabled(),
               "attend: the fused kernel has no second derivative; kernel='reference' has");
    const variable_list saved = ctx->get_saved_variables();
    const FusedPlan& plan = held(ctx->saved_data["plan"]);
    const Operands x = Operands::from(saved);
    const auto all = x.all();
    const auto type = x.query.scalar_type(), working = working_type(type);
    std::array<Tensor, Operands::kCount> grads;
    std::size_t edge = 0;  // absent operands have none
    for (std::size_t i = 0; i < Operands::kCount; ++i) {
      if (!all[i].defined() || !ctx->needs_input_grad(edge++)) continue;
      grads[i] = torch::empty(all[i].sizes(), all[i].options().dtype(i < 3 ? type : working));
    }
    const kernels::AttentionProblem problem = problem_of(plan, x);
    // Of w, one a head; a shared one is their sum.
    Tensor weights;
    if (grads[5].defined()) {
      weights = torch::empty({problem.heads, problem.width}, grads[5].options());
    }
    const Tensor& out = saved[Operands::kCount];
    const Tensor grad_out = gradients[0].defined() ? gradients[0].to(type) : torch::zeros_like(out);
    const Tensor& of_row = gradients[1].defined() ? gradients[1] : gradients[2];
    const Tensor grad_lse = of_row.defined() ? of_row.to(torch::kFloat32).contiguous() : Tensor();
    const auto data = [](Tensor& t) { return t.defined() ? t.mutable_data_ptr() : nullptr; };
    kernels::attention_backward(
        problem,
        {.out = kernel_input(out),
         .grad_out = kernel_input(grad_out),
         .state = saved[Operands::kCount + 1].const_data_ptr(),
         .mean = kernel_input(saved[Operands::kCount + 2]),
         .drift = kernel_input(saved[Operands::kCount + 3]),
         .grad_lse = grad_lse.defined() ? grad_lse.const_data_ptr<float>() : nullptr},
        {.query = kernel_output(grads[0]),
         .key = kernel_output(grads[1]),
         .value = kernel_output(grads[2]),
         .bias = kernel_output(grads[3]),
         .row_bias = data(grads[8]),
         .sink = data(grads[4]),
         .alpha = data(grads[6]),
         .center = data(grads[7]),
         .weight = data(weights)});
    if (weights.defined()) grads[5] = all[5].dim() == 2 ? weights : weights.sum(0);
    variable_list result(grads.begin(), grads.end());
    if (result[3].defined()) result[3] = result[3].to(x.bias.scalar_type());
    result.resize(Operands::kCount + 3);
    return result;
  }
};

/// Wants that need a look at the weights.
bool wants_weights(const Want& want) {
  return want.weights || want.scores || want.entropy || want.received || want.topk > 0 ||
         !want.rows.empty();
}

bool needs_gradient(const CheckedCall& call) {
  if (!torch::GradMode::is_enabled()) return false;
  bool needs = call.key.requires_grad() || call.value.requires_grad();
  for (const Tensor& x : {call.query, call.visibility.bias, call.sink})
    needs |= x.defined() && x.requires_grad();
  for (const Params* params : {&call.score_params, &call.align_params}) {
    for (const auto& [name, x] : *params) needs |= x.requires_grad();
  }
  return needs;
}

/// The weights of some queries, [B, H, rows, K].
Tensor weights_of_rows(const kernels::AttentionProblem& problem, const Tensor& state,
                       const std::vector<std::int64_t>& rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  Tensor weights =
      torch::empty({problem.batch, problem.heads, count, problem.keys}, state.options());
  kernels::attention_weights(
      problem, state.const_data_ptr(),
      {.weights = kernel_output(weights), .rows = rows.data(), .row_count = count});
  return weights;
}

/// The largest weights of every query, from some rows at a time: O(length) memory.
void look_at_top_keys(const kernels::AttentionProblem& problem, const Tensor& state, std::int64_t k,
                      torch::ScalarType given, AttendResult& result) {
  constexpr std::int64_t kRows = 64;
  std::vector<Tensor> weights, keys;
  for (std::int64_t first = 0; first < std::max<std::int64_t>(problem.queries, 1); first += kRows) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = first; i < std::min(first + kRows, problem.queries); ++i)
      rows.push_back(i);
    AttendResult some;
    const Tensor part = rows.empty() ? torch::empty({problem.batch, problem.heads, 0, problem.keys},
                                                    state.options())
                                     : weights_of_rows(problem, state, rows);
    take_top_keys(part, k, given, some);
    weights.push_back(some.topk_weights), keys.push_back(some.topk_keys);
  }
  result.topk_weights = torch::cat(weights, 2), result.topk_keys = torch::cat(keys, 2);
}

/// What was asked beside the output, by one more pass over the scores.
void look_at_weights(const FusedPlan& plan, const Want& want, const Operands& x,
                     const Tensor& state, AttendResult& result) {
  const kernels::AttentionProblem problem = problem_of(plan, x);
  const std::int64_t B = x.query.size(0), H = problem.heads;
  const auto given = x.value.scalar_type();
  const auto pairs = [&](bool wanted) {
    return wanted ? torch::empty({B, H, problem.queries, problem.keys}, state.options()) : Tensor();
  };
  Tensor weights = pairs(want.weights), scores = pairs(want.scores);
  kernels::WeightsResult wanted{.weights = kernel_output(weights), .scores = kernel_output(scores)};
  const auto floats = torch::TensorOptions(torch::kFloat32);
  if (want.entropy) {
    result.entropy = torch::empty({B, H, x.query.size(2)}, floats);
    wanted.entropy = result.entropy.mutable_data_ptr<float>();
  }
  if (want.received) {
    result.received = torch::empty({B, H, x.key.size(2)}, floats);
    wanted.received = result.received.mutable_data_ptr<float>();
  }
  kernels::attention_weights(problem, state.const_data_ptr(), wanted);
  if (want.scores) result.scores = scores.to(given);
  if (want.weights) result.weights = weights.to(given);
  if (want.topk > 0) look_at_top_keys(problem, state, want.topk, given, result);
  if (!want.rows.empty()) result.rows = weights_of_rows(problem, state, want.rows).to(given);
}

}  // namespace

Reasons fused_unsupported(const CheckedCall& call) {
  Reasons reasons;
  if (call.weights.defined()) reasons.push_back("the weights are given");
  if (call.score->form() == ScoreForm::Kind::none) reasons.push_back("the score has no fused form");
  if (!call.align->has_form()) reasons.push_back("the alignment has no fused form");
  if (!call.key.device().is_cpu()) reasons.push_back("the tensors are not on the CPU");
  if (!kernel_type(call.key.scalar_type())) reasons.push_back("the type has no kernel");
  const Tensor& bias = call.visibility.bias;
  if (bias.defined() && !kernel_type(bias.scalar_type()))
    reasons.push_back("the bias's type has no kernel");
  if (call.visibility.query_offsets.defined() && call.align->needs_query())
    reasons.push_back("the alignment predicts places, which a packed batch does not serve");
  if (call.alibi.defined() && call.alibi.requires_grad())
    reasons.push_back("the slopes need a gradient");
  return reasons;
}

std::string fused_name(const CheckedCall& call) {
  return call.score->form() == ScoreForm::Kind::additive ? "fused: additive" : "fused: dot";
}

kernels::AttentionProblem FusedPlan::problem(const Tensor& query, const Tensor& key,
                                             const Tensor& value) const {
  const Visibility& see = visibility;
  kernels::AttentionProblem p;
  p.type = *kernel_type(query.scalar_type());
  p.batch = see.B, p.heads = see.H, p.kv_heads = key.size(1);
  p.queries = see.Q, p.keys = see.K, p.width = key.size(3), p.value_width = value.size(3);
  p.query = kernel_input(query), p.key = kernel_input(key), p.value = kernel_input(value);
  if (score == ScoreForm::Kind::additive) p.score = kernels::Score::additive;
  p.activation = activation(act);
  p.scale = scale;
  p.softcap = softcap.value_or(0);
  p.bias = kernel_input(see.bias);
  if (see.bias.defined()) p.bias_type = *kernel_type(see.bias.scalar_type());
  if (alibi.defined()) p.alibi_slopes = alibi.const_data_ptr<float>();
  p.mask = kernel_input(see.mask);
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
  const auto whole = [](const Tensor& x) {
    return x.defined() ? x.const_data_ptr<std::int64_t>() : nullptr;
  };
  p.lengths = whole(see.lengths);
  p.query_offsets = whole(see.query_offsets), p.key_offsets = whole(see.key_offsets);
  set_align(align, p);
  p.dropout = dropout_p;
  p.seed = seed;
  return p;
}

std::shared_ptr<FusedPlan> make_plan(const CheckedCall& call, const ScoreForm& form) {
  auto plan = std::make_shared<FusedPlan>();
  plan->visibility = call.visibility;
  plan->score = call.score->form();
  plan->act = form.act;
  if (call.alibi.defined()) plan->alibi = call.alibi.to(torch::kFloat32).contiguous();
  plan->scale = call.scale;
  plan->softcap = call.softcap;
  plan->dropout_p = call.dropout_p;
  plan->seed = call.seed;
  return plan;
}

void match_heads(Tensor& key, Tensor& value, std::int64_t heads, bool each_head) {
  if (!each_head && key.size(1) == value.size(1)) return;
  key = repeat_heads(key, heads);
  value = repeat_heads(value, heads);
}

c10::IValue hold(std::shared_ptr<FusedPlan> plan) {
  return c10::IValue::make_capsule(c10::make_intrusive<Holder>(std::move(plan)));
}

const FusedPlan& held(const c10::IValue& value) {
  return *static_cast<const Holder&>(*value.toCapsule()).plan;
}

AttendResult attend_fused(const CheckedCall& call) {
  const auto working = working_type(call.key.scalar_type());
  const auto as_working = [&](const Tensor& x) {
    return x.defined() ? x.to(working).contiguous() : Tensor();
  };
  const ScoreForm score = call.score->operands(call.query, call.key, call.score_params);
  const auto plan = make_plan(call, score);
  plan->visibility.bias = Tensor();  // an operand, which the node saves
  plan->align = call.align->form(call.align_input(working), call.align_params);
  Operands x{.query = score.query,
             .key = score.key,
             .value = call.value,
             .bias = call.visibility.bias,
             .sink = as_working(call.sink),
             .weight = as_working(score.weight),
             .alpha = as_working(plan->align.alpha),
             .center = as_working(plan->align.center),
             .row_bias = as_working(score.row_bias)};
  plan->align.alpha = plan->align.center = Tensor();
  match_heads(x.key, x.value, call.visibility.H, x.weight.defined() && x.weight.dim() == 2);
  const auto present = [](const Tensor& t) {
    return t.defined() ? std::optional(t) : std::nullopt;
  };
  const bool trains = needs_gradient(call);
  const variable_list run =
      FusedAttention::apply(x.query, x.key, x.value, present(x.bias), present(x.sink),
                            present(x.weight), present(x.alpha), present(x.center),
                            present(x.row_bias), plan, trains, wants_weights(call.want));

  AttendResult result;
  if (wants_weights(call.want) || call.want.choice_entropy) {
    if (trains || call.want.choice_entropy) {
      result = attend_reference(call);
    } else {
      look_at_weights(*plan, call.want, x, run[3], result);
    }
  }
  result.output = run[0];
  if (call.want.lse) result.lse = run[1];
  if (call.want.logp) result.logp = run[2];
  return result;
}

}  // namespace heed
