#include "attention/reference.hpp"

#include "attention/dropout.hpp"
#include "attention/matrix.hpp"

namespace heed {
Params to_type(const Params& params, torch::ScalarType type) {
  Params result;
  for (const auto& [name, tensor] : params) result[name] = tensor.to(type);
  return result;
}

Tensor finish_scores(const CheckedCall& call, Tensor e) {
  if (call.scale != 1) e = e * call.scale;
  if (call.softcap) e = torch::tanh(e / *call.softcap) * *call.softcap;
  if (call.alibi.defined()) {
    e = e - call.alibi.to(e.dtype()).view({1, -1, 1, 1}) *
                call.visibility.distance().abs().to(e.dtype());
  }
  return e;
}

namespace {

bool finite(const Tensor& x) { return torch::isfinite(x).all().item<bool>(); }

// One query a batch entry, [B, H, Q, …] → [B·Q, H, 1, …], and back.
Tensor fold_queries(const Tensor& x) { return x.transpose(1, 2).flatten(0, 1).unsqueeze(2); }
Tensor unfold_queries(const Tensor& x, std::int64_t B) {
  return x.squeeze(2).unflatten(0, {B, x.size(0) / B}).transpose(1, 2);
}

// [B, H, M, K] · [B, H, K, P] by our own matrix product.
Tensor product(const Tensor& a, const Tensor& b) {
  return matrix_product(a.flatten(0, 1), b.flatten(0, 1)).unflatten(0, {a.size(0), a.size(1)});
}

/// Keys, values and queries such that nothing masked can reach an output or a gradient. A product
/// with weight 0 is not enough: 0 · NaN is NaN, in the backward pass too.
struct Clean {
  Tensor q, k, v;
  bool folded = false;  // every query has its own copy of keys and values
  std::int64_t B;

  Clean(const CheckedCall& call, const Tensor& keep, torch::ScalarType type)
      : B(call.visibility.B) {
    const std::int64_t H = call.visibility.H, Q = call.visibility.Q, K = call.visibility.K;
    if (call.query.defined()) q = call.query.to(type);
    k = repeat_heads(call.key.to(type), H);
    v = repeat_heads(call.value.to(type), H);
    if (!keep.defined()) return;
    const Tensor full = keep.expand({B, H, Q, K});
    const Tensor key_seen = full.any(2).unsqueeze(-1);
    k = torch::where(key_seen, k, 0.0);
    v = torch::where(key_seen, v, 0.0);
    if (q.defined()) q = torch::where(full.any(3).unsqueeze(-1), q, 0.0);
    if (!q.defined() || (finite(k) && finite(v))) return;
    // What is left is seen by some queries and hidden from others (a causal mask): rare, so the
    // plain way is good enough.
    folded = true;
    const Tensor seen = full.transpose(1, 2).flatten(0, 1).unsqueeze(-1);  // [B·Q, H, K, 1]
    q = fold_queries(q);
    const auto own = [&](const Tensor& x) {
      const Tensor copies = x.unsqueeze(1).expand({B, Q, H, K, x.size(-1)}).flatten(0, 1);
      return torch::where(seen, copies, 0.0);
    };
    k = own(k);
    v = own(v);
  }

  Tensor scores(const CheckedCall& call, const Params& params) const {
    Tensor e;
    if (call.own_products) {
      const ScoreForm form = call.score->operands(q, k, params);
      e = product(form.query, form.key.transpose(-1, -2));
      if (form.row_bias.defined()) e = e + form.row_bias.unsqueeze(-1);
      e = activate(form.act, e);
    } else {
      e = call.score->reference(q, k, params);
    }
    return folded ? unfold_queries(e, B) : e;
  }

  /// [B, H, 1 or Q, K, d_k]
  Tensor keys_of_queries() const {
    return folded ? k.unflatten(0, {B, k.size(0) / B}).transpose(1, 2) : k.unsqueeze(2);
  }

  Tensor combine(const CheckedCall& call, const Tensor& weights) const {
    const auto sum = [&](const Tensor& w) {
      return call.own_products ? product(w, v) : torch::matmul(w, v);
    };
    return folded ? unfold_queries(sum(fold_queries(weights)), B) : sum(weights);
  }
};

// The scores as they are, of masked pairs too: after bias, before mask.
Tensor raw_scores(const CheckedCall& call, torch::ScalarType type) {
  const Visibility& see = call.visibility;
  const Tensor q = call.query.defined() ? call.query.to(type) : Tensor();
  const Tensor k = repeat_heads(call.key.to(type), see.H);
  Tensor e = finish_scores(call, call.score->reference(q, k, to_type(call.score_params, type)));
  if (see.bias.defined()) e = e + see.bias.to(type);
  return e.expand({see.B, see.H, see.Q, see.K});
}

void reduce(const Want& want, const Tensor& weights, torch::ScalarType type, AttendResult& result) {
  if (want.weights) result.weights = weights.to(type);
  if (want.entropy) result.entropy = (-torch::xlogy(weights, weights).sum(-1)).to(torch::kFloat32);
  if (want.received) result.received = weights.sum(2).to(torch::kFloat32);
  if (!want.rows.empty())
    result.rows = weights.index_select(2, torch::tensor(want.rows, weights.device())).to(type);
  if (want.topk > 0) take_top_keys(weights, want.topk, type, result);
}

}  // namespace

Tensor repeat_heads(const Tensor& x, std::int64_t heads) {
  return x.size(1) == heads ? x : x.repeat_interleave(heads / x.size(1), 1);
}

AlignInput CheckedCall::align_input(torch::ScalarType type) const {
  AlignInput input{.sink = sink,
                   .lengths = visibility.lengths,
                   .heads = visibility.H,
                   .keys = visibility.K,
                   .type = type,
                   .seed = seed};
  if (query.defined()) input.query = query.to(type);
  return input;
}

Reasons unfused_unsupported(const CheckedCall& call) {
  Reasons reasons;
  if (call.weights.defined()) reasons.push_back("the weights are given");
  if (call.multi || call.score->form() != ScoreForm::Kind::dot) {
    reasons.push_back("the score is not a product of two vectors");
  }
  if (!call.key.device().is_cpu()) reasons.push_back("the tensors are not on the CPU");
  return reasons;
}

void take_top_keys(const Tensor& weights, std::int64_t k, torch::ScalarType type,
                   AttendResult& result) {
  // A stable sort keeps ties at the lower key.
  const auto [sorted, keys] = weights.sort(true, -1, true);
  const std::int64_t count = std::min(k, weights.size(-1));
  result.topk_weights = sorted.narrow(-1, 0, count).to(type);
  result.topk_keys = keys.narrow(-1, 0, count);
}

AttendResult attend_reference(const CheckedCall& call) {
  const torch::ScalarType given = call.value.scalar_type();
  const torch::ScalarType type = given == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
  const Visibility& see = call.visibility;
  const Tensor keep = see.keep();
  const Clean clean(call, keep, type);

  AttendResult result;
  Tensor weights;
  if (call.weights.defined()) {
    weights = call.weights.to(type).expand({see.B, see.H, see.Q, see.K});
    if (keep.defined()) weights = torch::where(keep, weights, 0.0);
  } else {
    Tensor e = finish_scores(call, clean.scores(call, to_type(call.score_params, type)));
    e = e.expand({see.B, see.H, see.Q, see.K});
    if (see.bias.defined()) {
      e = e + torch::where(keep, see.bias.to(type), 0.0);  // a masked bias may be NaN
    }
    if (call.want.scores) result.scores = raw_scores(call, type).to(given);
    AlignInput input = call.align_input(type);
    input.scores = e;
    input.keep = keep;
    input.key = clean.keys_of_queries();
    input.distance = see.distance();
    Aligned aligned = call.align->reference(input, to_type(call.align_params, type));
    weights = aligned.weights;
    if (call.want.lse) result.lse = aligned.lse.to(torch::kFloat32);
    if (call.want.logp) result.logp = aligned.logp.to(torch::kFloat32);
    if (call.want.choice_entropy) {
      result.choice_entropy = aligned.choice_entropy.to(torch::kFloat32);
    }
  }
  reduce(call.want, weights, given, result);
  if (call.dropout_p > 0) weights = weights * dropout_mask(weights, call.dropout_p, call.seed);
  result.output = clean.combine(call, weights).to(given);
  return result;
}

}  // namespace heed
