#include "heed/models/label_model.hpp"

#include <algorithm>

#include "heed/base/error.hpp"

namespace heed {
namespace {

/// The input that asks a specialised query: the one named, or the last that nothing attends to.
std::string asking_input(const Options& query, const DataInfo& info,
                         const std::vector<std::string>& taken) {
  const std::string named = get<std::string>(query, "input");
  if (!named.empty()) return named;
  for (const InputInfo& input : info.inputs) {
    if (std::ranges::find(taken, input.name) == taken.end()) return input.name;
  }
  throw InputError("query 'specialised': the task has no other input that could ask");
}

}  // namespace

LabelModel::LabelModel(const Config& config, const DataInfo& info)
    : dropout_(config.output_dropout), smoothing_(config.train.label_smoothing) {
  const bool pooled = config.feature.pool != "none";
  std::vector<std::string> names = taken_inputs(config.attention, named_widths(info, 1, pooled));
  const PartInfo& query = registry().find_built(Group::query, config.query.id);
  if (query.id == "specialised") {
    specialised_ = resolve(query, config.query.options, "query");
    const std::string asks = asking_input(*specialised_, info, names);
    (*specialised_)["input"] = asks;
    if (std::ranges::find(names, asks) == names.end()) names.push_back(asks);
  }
  encoder_ = register_module("encoder", Encoder(config, info, names));
  const std::int64_t dim = encoder_->output_dim();
  const auto labels = static_cast<std::int64_t>(info.labels.size());
  attention_ =
      register_module("attention", make_mechanism({.parts = config.attention,
                                                   .options = {},
                                                   .inputs = named_widths(info, dim, pooled),
                                                   .query_dim = dim,
                                                   .classes = labels}));
  HEED_CHECK(
      query.id != "self" || attention_->asks_itself(),
      "query 'self': in mechanism '{}' the features do not ask each other; 'self-attention', "
      "'transformer', 'linear' and 'structured.tree' do",
      config.attention.mechanism.id);
  HEED_CHECK(query.id != "specialised" || attention_->uses_query(),
             "query 'specialised': mechanism '{}' takes no query", config.attention.mechanism.id);
  // Of unit size: from a small query the scores start near uniform, and the encoder learns to do
  // without attention before attention learns anything.
  if (attention_->uses_query() && !specialised_)
    query_ = register_parameter("query", torch::randn({dim}));
  HEED_CHECK(config.output.id == "softmax",
             "output '{}': tasks of kind '{}' choose a label; [output] model = \"softmax\" does",
             config.output.id, config.task.source.kind);
  if (!attention_->gives_logits())
    output_ = register_module("output", torch::nn::Linear(attention_->output_dim(), labels));
}

Inputs LabelModel::features(const Batch& batch, Trace& trace) {
  Inputs inputs = encoder_->forward(batch, trace);
  if (specialised_) inputs.query = specialised_query(*specialised_, inputs);
  if (query_.defined()) inputs.query = query_.expand({batch.size(), -1});
  return inputs;
}

Tensor LabelModel::attend(const Inputs& features, Trace& trace) {
  const Context context = attention_->forward(features, trace);
  trace.check_replacements_used();
  HEED_CHECK(
      context.dim() == 2,
      "model: one vector a text is needed, the mechanism gave {}; its option pool = \"none\" "
      "is for tasks that label positions",
      shape_text(context));
  return torch::dropout(context, output_ ? dropout_ : 0, is_training());
}

Tensor LabelModel::context(const Batch& batch, Trace& trace) {
  return attend(features(batch, trace), trace);
}

Tensor LabelModel::logits(const Inputs& features, Trace& trace) {
  const Tensor found = attend(features, trace);
  return output_ ? output_->forward(found) : found;
}

Tensor LabelModel::forward(const Batch& batch, Trace& trace) {
  return logits(features(batch, trace), trace);
}

Tensor LabelModel::losses(const Batch& batch, Trace& trace) {
  return torch::cross_entropy_loss(forward(batch, trace), batch.labels, {}, at::Reduction::None,
                                   /*ignore_index=*/-100, smoothing_);
}

Reply LabelModel::answer(const Batch& batch, Trace& trace) {
  return label_reply(forward(batch, trace), batch.labels);
}

Reply label_reply(const Tensor& logits, const Tensor& labels) {
  Reply reply;
  if (labels.defined() && labels.ge(0).all().item<bool>())
    reply.losses = torch::cross_entropy_loss(logits, labels, {}, at::Reduction::None);
  const Tensor probabilities = torch::softmax(logits, 1).to(torch::kFloat32).contiguous();
  const Tensor best = probabilities.argmax(1);
  const std::int64_t classes = probabilities.size(1);
  for (std::int64_t b = 0; b < logits.size(0); ++b) {
    const float* row = probabilities.data_ptr<float>() + b * classes;
    reply.predictions.push_back({.label = static_cast<std::size_t>(best[b].item<std::int64_t>()),
                                 .probabilities = {row, row + classes}});
  }
  return reply;
}

}  // namespace heed
