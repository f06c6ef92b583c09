#include "heed/mechanisms/attender.hpp"

#include <torch/nn/init.h>

#include "heed/attention/align.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

using torch::nn::Linear;

// [B, L, H·d] → [B, H, L, d]
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return x.unflatten(-1, {heads, x.size(-1) / heads}).transpose(1, 2);
}

// [B, H, Q, d] → [B, Q, H·d], or [B, H·d] where one query was asked
Tensor join_heads(const Tensor& x, bool single) {
  const Tensor joined = x.transpose(1, 2).flatten(2);
  return single ? joined.squeeze(1) : joined;
}

bool is_single(const Tensor& query) { return !query.defined() || query.dim() == 2; }

// [B, d] → [B, 1, d]
Tensor rows(const Tensor& query) { return query.dim() == 2 ? query.unsqueeze(1) : query; }

bool needs_query(const AttentionSpec& parts) {
  const PartInfo& score = attention_parts().find_built(Group::score, parts.score.id);
  const PartInfo& align = attention_parts().find_built(Group::align, parts.align.id);
  const auto resolved = [](const PartInfo& part, const PartSpec& spec) {
    return resolve(part, spec.options, name(part.group));
  };
  return !std::get<MakeScore>(score.make)(resolved(score, parts.score))->query_optional() ||
         std::get<MakeAlign>(align.make)(resolved(align, parts.align))->needs_query();
}

// Copies of the keys, the values and the pairs' masks with a heads axis; padding is silenced,
// because a layer's gradient multiplies it.
Asking with_heads_axis(const Asking& asking) {
  Asking each = asking;
  each.keys = zero_padding(asking.keys);
  each.values = asking.values.defined()
                    ? zero_padding({asking.values, asking.keys.lengths, ""}).data
                    : each.keys.data;
  if (!is_single(asking.query.data) && asking.query.data.dim() == 3)
    each.query = zero_padding(asking.query);
  for (Tensor* pairs : {&each.mask, &each.bias}) {
    if (pairs->defined() && pairs->dim() == 3) *pairs = pairs->unsqueeze(1);
  }
  return each;
}

}  // namespace

AttenderImpl::AttenderImpl(const MechanismProblem& problem, std::int64_t query_dim,
                           std::int64_t key_dim, std::int64_t value_dim)
    : output_dim_(value_dim > 0 ? value_dim : key_dim) {
  const PartInfo& queries = mechanism_parts().find_built(Group::queries, problem.parts.queries.id);
  const Options options = resolve(queries, problem.parts.queries.options, "queries");
  const bool hops = queries.id == "multi-hop", many = queries.id == "multi-head";
  const bool shared_keys = many && !get<bool>(options, "projections");
  if (query_dim == 0 && (hops || shared_keys || needs_query(problem.parts))) {
    query_dim = key_dim;
    if (!shared_keys) own_query_ = register_parameter("q", torch::randn({query_dim}));
  }
  Problem sizes{.query_dim = query_dim, .key_dim = key_dim, .value_dim = output_dim_};
  if (many) heads_ = get<std::int64_t>(options, "heads");
  if (shared_keys) {
    many_queries_ = register_parameter("queries", torch::randn({heads_, query_dim}));
    output_dim_ *= heads_;
  } else if (many) {
    make_heads(query_dim, key_dim, output_dim_);
    const std::int64_t each = output_dim_ / heads_;
    sizes = {
        .query_dim = query_dim > 0 ? each : 0, .key_dim = each, .value_dim = each, .heads = heads_};
  } else if (hops) {
    make_hops(options, query_dim, key_dim);
  }
  const AttentionConfig config{.score = problem.parts.score,
                               .align = problem.parts.align,
                               .dimensionality = problem.parts.dimensionality.id,
                               .dropout = problem.parts.dropout};
  attention_ = register_module("attention", Attention(config, sizes));
  position_ =
      register_module("position", make_position(problem.parts.position, {.dim = key_dim,
                                                                         .heads = heads_,
                                                                         .head_dim = sizes.key_dim,
                                                                         .score = config.score.id,
                                                                         .options = {}}));
  const std::string& position = problem.parts.position.id;
  counts_places_ = position != "none" && position != "alibi";
}

void AttenderImpl::make_heads(std::int64_t query_dim, std::int64_t key_dim,
                              std::int64_t value_dim) {
  HEED_CHECK(value_dim % heads_ == 0, "queries 'multi-head': {} heads do not divide the width {}",
             heads_, value_dim);
  if (query_dim > 0) query_ = register_module("W_Q", Linear(query_dim, value_dim));
  key_ = register_module("W_K", Linear(key_dim, value_dim));
  value_ = register_module("W_V", Linear(value_dim, value_dim));
  output_ = register_module("W_O", Linear(value_dim, value_dim));
}

void AttenderImpl::make_hops(const Options& options, std::int64_t query_dim, std::int64_t key_dim) {
  hops_ = get<std::int64_t>(options, "hops");
  const std::string& update = get<std::string>(options, "update");
  HEED_CHECK(update != "add" || query_dim == output_dim_,
             "queries 'multi-hop': update 'add' needs a query as wide as the context; they are {} "
             "and {}; 'linear' and 'gru' take both",
             query_dim, output_dim_);
  if (update == "linear") {
    linear_update_ = register_module("update", Linear(query_dim + output_dim_, query_dim));
  } else if (update == "gru") {
    gru_update_ = register_module("update", torch::nn::GRUCell(output_dim_, query_dim));
  }
  carry_ = get<bool>(options, "carry");
  HEED_CHECK(!carry_ || query_dim == output_dim_,
             "queries 'multi-hop': carry adds a query and a context; they are {} and {} wide",
             query_dim, output_dim_);
  tied_ = get<bool>(options, "tied");
  const bool new_keys = get<bool>(options, "new_keys"),
             new_values = get<bool>(options, "new_values");
  HEED_CHECK(!tied_ || (key_dim == output_dim_ && !new_keys && !new_values),
             "queries 'multi-hop': tied makes the values of a hop the keys of the next: they are "
             "{} and {} wide and must agree, and new_keys and new_values must be false",
             output_dim_, key_dim);
  for (std::int64_t hop = 1; hop <= hops_; ++hop) {
    if (tied_) {  // as separate embeddings would be: what matched before a projection still does
      hop_values_.push_back(
          register_module(fmt::format("W_{}", hop),
                          Linear(torch::nn::LinearOptions(key_dim, key_dim).bias(false))));
      torch::nn::init::orthogonal_(hop_values_.back()->weight);
    }
    if (new_keys)
      hop_keys_.push_back(register_module(fmt::format("W_K{}", hop), Linear(key_dim, key_dim)));
    if (new_values)
      hop_values_.push_back(
          register_module(fmt::format("W_V{}", hop), Linear(output_dim_, output_dim_)));
  }
}

std::vector<std::string> AttenderImpl::slots(const std::string& name) const {
  if (hops_ == 0) return {name};
  std::vector<std::string> names;
  for (std::int64_t hop = 1; hop <= hops_; ++hop)
    names.push_back(fmt::format("{}/hop {}", name, hop));
  return names;
}

Tensor AttenderImpl::attend(const Tensor& query, const Input& keys, const TraceSlot& slot) {
  return attend({.query = {.data = query, .lengths = {}, .name = ""}, .keys = keys}, slot);
}

Tensor AttenderImpl::attend(const Asking& given, const TraceSlot& slot) {
  HEED_CHECK(given.group == nullptr || (!counts_places_ && !given.keys.lengths.defined()),
             "attend over a group: layers see one rank's part only; take position 'none' or "
             "'alibi', and sequences without padding");
  Asking asking = position_->mark(given);
  Tensor& query = asking.query.data;
  if (!query.defined() && own_query_.defined())
    query = own_query_.expand({asking.keys.data.size(0), -1});
  if (hops_ == 0) return look(asking, slot);
  const bool projects = !hop_keys_.empty() || !hop_values_.empty();
  const Input keys = projects ? zero_padding(asking.keys) : asking.keys;
  const Tensor values = !asking.values.defined() ? keys.data
                        : hop_values_.empty()
                            ? asking.values
                            : zero_padding({asking.values, keys.lengths, keys.name}).data;
  asking.values = values;
  Tensor context;
  for (std::int64_t hop = 0; hop < hops_; ++hop) {
    if (hop > 0) query = next_query(query, context);
    if (!hop_keys_.empty())
      asking.keys.data = hop_keys_[static_cast<std::size_t>(hop)]->forward(keys.data);
    if (tied_ && hop > 0) asking.keys.data = asking.values;
    if (!hop_values_.empty())
      asking.values = hop_values_[static_cast<std::size_t>(hop)]->forward(values);
    context = look(asking, slot[fmt::format("hop {}", hop + 1)]);
  }
  return carry_ ? query + context : context;
}

Tensor AttenderImpl::next_query(const Tensor& query, const Tensor& context) {
  if (linear_update_) return linear_update_->forward(torch::cat({query, context}, -1));
  if (!gru_update_) return query + context;
  return gru_update_->forward(context.flatten(0, -2), query.flatten(0, -2)).view_as(query);
}

Tensor AttenderImpl::look(const Asking& asking, const TraceSlot& slot) {
  if (output_) return look_with_heads(asking, slot);
  return many_queries_.defined() ? look_with_shared_keys(asking, slot)
                                 : attention_->attend(position_->place(asking), slot);
}

Tensor AttenderImpl::look_with_heads(const Asking& asking, const TraceSlot& slot) {
  Asking each = with_heads_axis(asking);
  const bool single = is_single(asking.query.data);
  if (query_) each.query.data = split_heads(query_->forward(rows(each.query.data)), heads_);
  each.keys.data = split_heads(key_->forward(each.keys.data), heads_);
  each.values = split_heads(value_->forward(each.values), heads_);
  return output_->forward(join_heads(attention_->attend(position_->place(each), slot), single));
}

Tensor AttenderImpl::look_with_shared_keys(const Asking& asking, const TraceSlot& slot) {
  Asking each = with_heads_axis(asking);
  const Tensor& query = each.query.data;
  const Tensor learned = many_queries_.view({1, heads_, 1, -1});  // [1, M, 1, d_q]
  bool single = is_single(query);
  Tensor many;
  if (!query.defined()) {
    many = learned.expand({each.keys.data.size(0), -1, -1, -1});
  } else if (query.dim() == 4) {
    HEED_CHECK(query.size(1) == heads_, "queries 'multi-head': {} queries were given for {} heads",
               query.size(1), heads_);
    many = query;
    single = query.size(2) == 1;
  } else {
    many = rows(query).unsqueeze(1) + learned;
  }
  each.query.data = many;
  each.keys.data = each.keys.data.unsqueeze(1);
  each.values = each.values.unsqueeze(1);
  return join_heads(attention_->attend(position_->place(each), slot), single);
}

}  // namespace heed
