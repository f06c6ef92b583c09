#include "attention/multi.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include "attention/dropout.hpp"
#include "attention/fused.hpp"
#include "attention/kernel_call.hpp"
#include "heed/base/error.hpp"
#include "heed/kernels/multi.hpp"

namespace heed {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class FusedMulti : public torch::autograd::Function<FusedMulti> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Tensor& matrix, const std::shared_ptr<FusedPlan>& plan) {
    const auto working = q.options().dtype(working_type(q.scalar_type()));
    Tensor out = torch::empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q.options());
    const Tensor state = torch::empty({q.size(0), q.size(1), q.size(2), 2, v.size(3)}, working);
    kernels::multi_forward(problem(*plan, q, k, v, matrix),
                           {.out = kernel_output(out), .state = state.mutable_data_ptr()});
    ctx->save_for_backward({q, k, v, matrix, out, state});
    ctx->saved_data["plan"] = hold(plan);
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    HEED_CHECK(!torch::GradMode::is_enabled(),
               "attend: the fused kernel has no second derivative; kernel='reference' has");
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2], &matrix = saved[3];
    Tensor dq = torch::empty(q.sizes(), q.options()), dk = torch::empty(k.sizes(), k.options()),
           dv = torch::empty(v.sizes(), v.options());
    Tensor weights = torch::empty({q.size(1), matrix.size(-2), matrix.size(-1)}, matrix.options());
    const Tensor grad = gradients[0].to(q.scalar_type());
    kernels::multi_backward(problem(held(ctx->saved_data["plan"]), q, k, v, matrix),
                            {.out = kernel_input(saved[4]),
                             .grad_out = kernel_input(grad),
                             .state = saved[5].const_data_ptr()},
                            {.query = kernel_output(dq),
                             .key = kernel_output(dk),
                             .value = kernel_output(dv),
                             .weight = weights.mutable_data_ptr()});
    return {dq, dk, dv, matrix.dim() == 3 ? weights : weights.sum(0), Tensor()};
  }

 private:
  static kernels::AttentionProblem problem(const FusedPlan& plan, const Tensor& q, const Tensor& k,
                                           const Tensor& v, const Tensor& matrix) {
    kernels::AttentionProblem p = plan.problem(q, k, v);
    p.weight = matrix.const_data_ptr();
    p.weight_stride = matrix.dim() == 3 ? matrix.stride(0) : 0;
    return p;
  }
};

AttendResult multi_fused(const CheckedCall& call, const ScoreForm& form, const Tensor& matrix) {
  const auto plan = make_plan(call, form);
  Tensor key = form.key, value = call.value;
  match_heads(key, value, call.visibility.H, matrix.dim() == 3);
  const Tensor working = matrix.to(working_type(matrix.scalar_type())).contiguous();
  return {.output = FusedMulti::apply(form.query, key, value, working, plan)};
}

/// The features as heads of an ordinary attention, each with one value: [B, H·d_v, Q, K].
AttendResult multi_reference(const CheckedCall& call, const Tensor& matrix) {
  const torch::ScalarType given = call.value.scalar_type(), type = working_type(given);
  const Visibility& see = call.visibility;
  const Tensor keep = see.keep();
  Tensor k = repeat_heads(call.key.to(type), see.H), v = repeat_heads(call.value.to(type), see.H),
         q;
  if (call.query.defined()) q = call.query.to(type);
  if (keep.defined()) {  // what nobody sees may be NaN
    const Tensor full = keep.expand({see.B, see.H, see.Q, see.K});
    k = torch::where(full.any(2).unsqueeze(-1), k, 0.0);
    v = torch::where(full.any(2).unsqueeze(-1), v, 0.0);
    if (q.defined()) q = torch::where(full.any(3).unsqueeze(-1), q, 0.0);
  }
  const ScoreForm form = call.score->operands(q, k, to_type(call.score_params, type));
  const Tensor hidden =
      activate(form.act, form.query.unsqueeze(3) + repeat_heads(form.key, see.H).unsqueeze(2));
  const Tensor wd = matrix.to(type);  // [h, d_v] or [H, h, d_v]
  Tensor e = torch::matmul(hidden, wd.dim() == 3 ? wd.unsqueeze(1) : wd);  // [B, H, Q, K, d_v]
  e = finish_scores(call, e.movedim(-1, 0)).movedim(0, -1);
  if (see.bias.defined()) e = e + torch::where(keep, see.bias.to(type), 0.0).unsqueeze(-1);
  AttendResult result;
  if (call.want.scores) result.scores = e.to(given);
  const Tensor rows = e.permute({4, 0, 1, 2, 3}).flatten(0, 1);  // [d_v·B, H, Q, K]
  const Tensor again = keep.defined()
                           ? keep.expand({see.B, see.H, see.Q, see.K}).repeat({e.size(4), 1, 1, 1})
                           : Tensor();
  Tensor weights = masked_softmax(rows, again).weights.unflatten(0, {e.size(4), see.B});
  weights = weights.permute({1, 2, 3, 4, 0});  // [B, H, Q, K, d_v]
  if (call.want.weights) result.weights = weights.to(given);
  if (call.dropout_p > 0) {
    weights =
        weights * dropout_mask(weights.select(-1, 0), call.dropout_p, call.seed).unsqueeze(-1);
  }
  result.output = (weights * v.unsqueeze(2)).sum(3).to(given);
  return result;
}

}  // namespace

std::vector<ParamInfo> multi_params() {
  return {{.name = "W1", .shape = {"h", "d_q"}},
          {.name = "W2", .shape = {"h", "d_k"}},
          {.name = "Wd", .shape = {"h", "d_v"}},
          {.name = "b", .shape = {"h"}, .optional = true, .init = Init::zeros}};
}

Reasons multi_unsupported(const CheckedCall& call) {
  Reasons reasons = fused_unsupported(call);
  if (call.visibility.bias.defined() && call.visibility.bias.requires_grad()) {
    reasons.push_back("the bias needs a gradient");
  }
  return reasons;
}

AttendResult attend_multi(const CheckedCall& call, bool fused) {
  const Want& want = call.want;
  HEED_CHECK(!want.lse && !want.entropy && !want.received && want.topk == 0 && want.rows.empty(),
             "attend: with dimensionality 'multi' only weights, scores and kernel can be wanted");
  const Tensor& matrix = call.score_params.at("Wd");
  if (!fused) return multi_reference(call, matrix);
  const ScoreForm form = call.score->operands(call.query, call.key, call.score_params);
  AttendResult result = multi_fused(call, form, matrix);
  if (want.weights || want.scores) {
    AttendResult all = multi_reference(call, matrix);
    result.weights = all.weights, result.scores = all.scores;
  }
  return result;
}

}  // namespace heed
