#include "heed/attention/attention.hpp"

#include <torch/nn/init.h>

#include <cmath>

#include "attention/multi.hpp"
#include "heed/attention/registry.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

std::unique_ptr<Align> make_align(const PartSpec& spec) {
  const PartInfo& info = attention_parts().find_built(Group::align, spec.id);
  return std::get<MakeAlign>(info.make)(resolve(info, spec.options, "align"));
}

/// A sum for each batch entry of [B, Q] or [B, H, Q], without the padding among the queries.
Tensor sum_of_rows(const Tensor& rows, const Input& query) {
  Tensor all = rows.dim() == 2 ? rows.unsqueeze(1) : rows;
  if (query.lengths.defined()) {
    const Tensor place = torch::arange(all.size(-1), query.lengths.options());
    all = torch::where(place < query.lengths.view({-1, 1, 1}), all, 0.0);
  }
  return all.flatten(1).sum(1);
}

}  // namespace

Tensor SizedParam::initial() const {
  Tensor value = torch::zeros(shape);
  if (info.init == Init::ones) return value.fill_(1);
  if (info.init == Init::constant) return value.fill_(info.value);
  if (info.init == Init::xavier && shape.size() == 2)
    return torch::nn::init::xavier_uniform_(value);
  if (info.init == Init::xavier && !shape.empty()) {
    const double bound =
        1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(shape.back(), 1)));
    return value.uniform_(-bound, bound);
  }
  return value;
}

std::vector<SizedParam> parameters_of(const PartSpec& score_spec, const PartSpec& align_spec,
                                      const Problem& problem, const std::string& dimensionality) {
  attention_parts().find_built(Group::dimensionality, dimensionality);
  const bool multi = dimensionality == "multi";
  HEED_CHECK(!multi || (score_spec.id == "additive" && align_spec.id == "soft"),
             "dimensionality 'multi' goes with score 'additive' and align 'soft'");
  const PartInfo& score_info = attention_parts().find_built(Group::score, score_spec.id);
  const PartInfo& align_info = attention_parts().find_built(Group::align, align_spec.id);
  for (const PartInfo* info : {&score_info, &align_info}) {
    if (!info->unsupported) continue;
    for (const std::string& reason : info->unsupported(problem)) {
      throw InputError(fmt::format("{} '{}': {}", name(info->group), info->id, reason));
    }
  }
  const auto score =
      std::get<MakeScore>(score_info.make)(resolve(score_info, score_spec.options, "score"));
  const auto align = make_align(align_spec);
  Letters letters = score->default_sizes(problem);
  letters.merge(align->default_sizes(problem));
  letters.insert(
      {{"d_q", problem.query_dim}, {"d_k", problem.key_dim}, {"d_v", problem.value_dim}});
  std::vector<SizedParam> result;
  for (const auto& infos : {multi ? multi_params() : score->params(), align->params()}) {
    for (const ParamInfo& info : infos) {
      const bool meets_query =
          std::find(info.shape.begin(), info.shape.end(), "d_q") != info.shape.end();
      if (info.given_only || (meets_query && problem.query_dim == 0)) continue;
      SizedParam sized{.info = info};
      for (const std::string& letter : info.shape) sized.shape.push_back(letters.at(letter));
      result.push_back(std::move(sized));
    }
  }
  return result;
}

AttentionImpl::AttentionImpl(AttentionConfig config, const Problem& problem)
    : config_(std::move(config)) {
  for (const SizedParam& param :
       parameters_of(config_.score, config_.align, problem, config_.dimensionality)) {
    std::vector<Tensor> heads;
    for (std::int64_t h = 0; h < problem.heads; ++h) heads.push_back(param.initial());
    register_parameter(param.info.name, problem.heads == 1 ? heads.front() : torch::stack(heads));
  }
  const auto align = make_align(config_.align);
  draws_ = align->draws();
  learning_ = align->learning();
}

Tensor AttentionImpl::attend(const Tensor& query, const Input& keys, const TraceSlot& slot) {
  return attend({.query = {.data = query, .lengths = {}, .name = ""}, .keys = keys}, slot);
}

Tensor AttentionImpl::scores(const Asking& asking) {
  Tensor found;
  Asking only = asking;
  only.weigh = [&](const Tensor& scores) { return found = scores; };
  Trace nobody;
  attend(only, nobody["scores"]);
  return found;
}

namespace {

/// Weights [B, H, Q, K]; or [B, H, Q, K, D], of which the reader sees the mean.
void record_weights(const Asking& asking, const Tensor& found, const TraceSlot& slot) {
  const bool each = found.dim() == 5;
  const Tensor weights = each ? found.mean(-1) : found;
  if (asking.see) asking.see(weights);
  slot.record({.axes = {"head", "query", "key"},
               .query_input = asking.query.name,
               .key_input = asking.keys.name,
               .weights = weights,
               .query_lengths = asking.query.lengths,
               .key_lengths = asking.keys.lengths,
               .features = each ? found : Tensor()});
}

/// The context of weights that were given for every feature, [B, H, Q, K, D].
Tensor weigh_features(const Asking& asking, const Tensor& values, const Tensor& given,
                      const TraceSlot& slot) {
  if (slot.wanted() || asking.see) record_weights(asking, given, slot);
  const bool heads_axis = values.dim() == 4;
  const Tensor each = heads_axis ? values : values.unsqueeze(1);
  const Tensor context = (given * each.unsqueeze(2)).sum(3);  // [B, H, Q, D]
  if (heads_axis) return context;
  const bool single = !asking.query.data.defined() || asking.query.data.dim() == 2;
  return single ? context.squeeze(1).squeeze(1) : context.squeeze(1);
}

}  // namespace

Tensor AttentionImpl::attend(const Asking& asking, const TraceSlot& slot) {
  const Tensor& query = asking.query.data;
  const Input& keys = asking.keys;
  const bool heads_axis = keys.data.dim() == 4;
  const bool single = !heads_axis && (!query.defined() || query.dim() == 2);
  const Tensor queries = query.defined() && single ? query.unsqueeze(1) : query;
  Params params;
  for (const auto& item : named_parameters(/*recurse=*/false)) params[item.key()] = item.value();

  AttendOptions options{.score = config_.score,
                        .align = config_.align,
                        .dimensionality = config_.dimensionality,
                        .params = std::move(params),
                        .mask = asking.mask,
                        .bias = asking.bias,
                        .alibi = asking.alibi,
                        .causal = asking.causal,
                        .lengths = keys.lengths,
                        .group = asking.group};
  options.dropout_p = is_training() ? config_.dropout : 0;
  // Outside training a choice is the best one.
  if (draws_ && !is_training()) options.align.options["mode"] = "argmax";
  const Tensor& values = asking.values.defined() ? asking.values : keys.data;
  options.want.weights = slot.wanted() || asking.see;
  if (slot.differentiable()) options.kernel = Kernel::reference;
  if (Tensor given = slot.replacement(); given.defined()) {
    // [B, K], [B, Q, K] or [B, H, Q, K], as the tensors have it.
    if (given.dim() == 2) given = given.unsqueeze(1);
    if (heads_axis && given.dim() == 3) given = given.unsqueeze(1);
    if (given.dim() == 5) return weigh_features(asking, values, given, slot);
    if (!heads_axis && given.dim() == 4) given = given.squeeze(1);
    options.weights = given;
    options.dimensionality = "single";  // one weight a key, for all features
    options.params.clear();
  } else if (asking.weigh) {
    AttendOptions scores = options;
    scores.want = {.scores = true};
    scores.dropout_p = 0;
    const Tensor e = heed::attend(queries, keys.data, values, scores).scores;
    const Tensor weights = asking.weigh(heads_axis ? e : e.unsqueeze(1));
    options.weights = heads_axis ? weights : weights.squeeze(1);
    options.params.clear();
  }
  const bool chooses = learning_ && is_training() && !options.weights.defined();
  options.want.logp = chooses;
  options.want.choice_entropy = chooses && learning_->entropy > 0;
  const AttendResult result = heed::attend(queries, keys.data, values, options);
  if (options.want.weights) {
    const Tensor found = heads_axis ? result.weights : result.weights.unsqueeze(1);
    record_weights(asking, found, slot);
  }
  if (chooses) {
    Choice choice{.name = {}, .logp = sum_of_rows(result.logp, asking.query)};
    if (result.choice_entropy.defined()) {
      choice.entropy = sum_of_rows(result.choice_entropy, asking.query);
    }
    choice.entropy_weight = learning_->entropy;
    choice.baseline_decay = learning_->baseline;
    slot.add(std::move(choice));
  }
  return single ? result.output.squeeze(1) : result.output;
}

}  // namespace heed
