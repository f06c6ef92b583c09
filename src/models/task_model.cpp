#include "heed/models/task_model.hpp"

#include "heed/base/error.hpp"

namespace heed {

TaskModel::TaskModel(const Config& config, std::int64_t vocabulary, std::int64_t labels) {
  const PartInfo& feature = registry().find_built(Group::feature, config.feature.model.id);
  feature_ = register_module(
      "feature", std::get<MakeFeature>(feature.make)(
                     {.vocabulary = vocabulary,
                      .embedding = config.feature.embedding > 0 ? config.feature.embedding
                                                                : config.feature.dim,
                      .dim = config.feature.dim,
                      .layers = config.feature.layers,
                      .dropout = config.feature.dropout,
                      .options = resolve(feature, config.feature.model.options, "feature")}));
  const std::int64_t dim = feature_->output_dim();
  attention_ =
      register_module("attention", make_mechanism({.parts = config.attention,
                                                   .options = {},
                                                   .inputs = {{.name = "text", .dim = dim}},
                                                   .query_dim = dim,
                                                   .classes = labels}));
  const PartInfo& query = registry().find_built(Group::query, config.query.id);
  HEED_CHECK(
      query.id != "self" || attention_->asks_itself(),
      "query 'self': in mechanism '{}' the features do not ask each other; 'self-attention', "
      "'transformer', 'linear' and 'structured.tree' do",
      config.attention.mechanism.id);
  HEED_CHECK(query.id != "specialised" || attention_->uses_query(),
             "query 'specialised': mechanism '{}' takes no query", config.attention.mechanism.id);
  if (query.id == "specialised") specialised_ = resolve(query, config.query.options, "query");
  // Of unit size: from a small query the scores start near uniform, and the encoder learns to do
  // without attention before attention learns anything.
  if (attention_->uses_query() && !specialised_)
    query_ = register_parameter("query", torch::randn({dim}));
  registry().find_built(Group::output, config.output.id);
  if (!attention_->gives_logits())
    output_ = register_module("output", torch::nn::Linear(attention_->output_dim(), labels));
}

Tensor TaskModel::forward(const Batch& batch, Trace& trace) {
  const auto text = batch.inputs.find("text");
  HEED_CHECK(text != batch.inputs.end(), "model: the batch has no input 'text'");
  Inputs inputs;
  for (const auto& [name, words] : batch.inputs)
    inputs.set(name, feature_->forward(words), words.lengths);
  if (specialised_) inputs.query = specialised_query(*specialised_, inputs);
  if (query_.defined()) inputs.query = query_.expand({text->second.ids.size(0), -1});
  const Context context = attention_->forward(inputs, trace);
  trace.check_replacements_used();
  HEED_CHECK(
      context.dim() == 2,
      "model: one vector a text is needed, the mechanism gave {}; its option pool = \"none\" "
      "is for tasks that label positions",
      shape_text(context));
  return output_ ? output_->forward(context) : context;
}

std::int64_t TaskModel::parameter_count() const {
  std::int64_t count = 0;
  for (const Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

const Registry& registry() {
  static const Registry all = [] {
    std::vector<PartInfo> table = feature_models();
    table.push_back({.id = "softmax",
                     .group = Group::output,
                     .title = "Softmax classifier",
                     .formula = R"(\hat{y} = \mathrm{softmax}(W c + b))",
                     .paper = "–",
                     .advice = "one of several labels"});
    return Registry(mechanism_parts(), std::move(table));
  }();
  return all;
}

}  // namespace heed
