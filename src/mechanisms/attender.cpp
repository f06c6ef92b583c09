#include "heed/mechanisms/attender.hpp"

#include "heed/base/error.hpp"

namespace heed {
namespace {

// [B, L, H·d] → [B, H, L, d]
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return x.unflatten(-1, {heads, x.size(-1) / heads}).transpose(1, 2);
}

}  // namespace

AttenderImpl::AttenderImpl(const MechanismProblem& problem, std::int64_t query_dim,
                           std::int64_t key_dim, std::int64_t value_dim)
    : output_dim_(value_dim > 0 ? value_dim : key_dim) {
  const PartInfo& queries = mechanism_parts().find_built(Group::queries, problem.parts.queries.id);
  const Options options = resolve(queries, problem.parts.queries.options, "queries");
  const AttentionConfig config{.score = problem.parts.score,
                               .align = problem.parts.align,
                               .dimensionality = problem.parts.dimensionality.id,
                               .dropout = problem.parts.dropout};
  Problem sizes{.query_dim = query_dim, .key_dim = key_dim, .value_dim = output_dim_};
  if (queries.id == "multi-head") {
    heads_ = get<std::int64_t>(options, "heads");
    HEED_CHECK(output_dim_ % heads_ == 0,
               "queries 'multi-head': {} heads do not divide the width {}", heads_, output_dim_);
    const std::int64_t each = output_dim_ / heads_;
    sizes = {
        .query_dim = query_dim > 0 ? each : 0, .key_dim = each, .value_dim = each, .heads = heads_};
    using torch::nn::Linear;
    if (query_dim > 0) query_ = register_module("W_Q", Linear(query_dim, output_dim_));
    key_ = register_module("W_K", Linear(key_dim, output_dim_));
    value_ = register_module("W_V", Linear(value_dim > 0 ? value_dim : key_dim, output_dim_));
    output_ = register_module("W_O", Linear(output_dim_, output_dim_));
  }
  attention_ = register_module("attention", Attention(config, sizes));
  position_ =
      register_module("position", make_position(problem.parts.position, {.dim = key_dim,
                                                                         .heads = heads_,
                                                                         .head_dim = sizes.key_dim,
                                                                         .score = config.score.id,
                                                                         .options = {}}));
}

Tensor AttenderImpl::attend(const Tensor& query, const Input& keys, const TraceSlot& slot) {
  return attend({.query = {.data = query, .lengths = {}, .name = ""}, .keys = keys}, slot);
}

Tensor AttenderImpl::attend(const Asking& asking, const TraceSlot& slot) {
  const Asking marked = position_->mark(asking);
  return output_ ? attend_heads(marked, slot) : attention_->attend(position_->place(marked), slot);
}

Tensor AttenderImpl::attend_heads(const Asking& asking, const TraceSlot& slot) {
  Asking each = asking;
  const Tensor& query = asking.query.data;
  const bool single = !query.defined() || query.dim() == 2;
  if (query.defined()) {
    each.query.data = split_heads(query_->forward(single ? query.unsqueeze(1) : query), heads_);
  }
  const Tensor& values = asking.values.defined() ? asking.values : asking.keys.data;
  each.keys.data = split_heads(key_->forward(asking.keys.data), heads_);
  each.values = split_heads(value_->forward(values), heads_);
  const Tensor context =
      attention_->attend(position_->place(each), slot).transpose(1, 2).flatten(2);
  return output_->forward(single ? context.squeeze(1) : context);
}

}  // namespace heed
