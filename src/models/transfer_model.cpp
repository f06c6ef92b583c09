#include "heed/models/transfer_model.hpp"

#include "heed/base/error.hpp"

namespace heed {
namespace {

/// The same values; their gradient times `factor` on its way back.
Tensor with_gradient_times(const Tensor& x, double factor) {
  return x.detach() * (1 - factor) + x * factor;
}

}  // namespace

TransferModel::TransferModel(const Config& config, const DataInfo& info)
    : LabelModel(config, info), reversal_(config.train.reversal), dropout_(config.output_dropout) {
  HEED_CHECK(output(),
             "task.source: mechanism '{}' gives the labels itself, so that nothing of it could be "
             "shared between domains; choose another",
             config.attention.mechanism.id);
  const std::int64_t dim = encoder()->output_dim();
  const auto labels = static_cast<std::int64_t>(info.labels.size());
  own_ = register_module(
      "own_attention",
      make_mechanism({.parts = config.attention,
                      .options = {},
                      .inputs = named_widths(info, dim, config.feature.pool != "none"),
                      .query_dim = dim,
                      .classes = labels}));
  const std::int64_t width = own_->output_dim();
  own_output_ = register_module("own_output", torch::nn::Linear(width, labels));
  shared_domain_ = register_module("shared_domain", torch::nn::Linear(width, 2));
  own_domain_ = register_module("own_domain", torch::nn::Linear(width, 2));
}

TransferModel::Found TransferModel::find(const Inputs& features, Trace& trace) {
  Tensor own;
  {
    const Trace::Within below(trace, "own");
    own = own_->forward(features, trace);
  }
  // Last: it looks whether every replaced weight has found its module.
  Tensor shared = attend(features, trace);
  return {.shared = std::move(shared), .own = torch::dropout(own, dropout_, is_training())};
}

Tensor TransferModel::chosen(const Found& found) {
  torch::nn::Linear shared_output = output();
  return shared_output->forward(found.shared) + own_output_->forward(found.own);
}

Tensor TransferModel::logits(const Inputs& features, Trace& trace) {
  return chosen(find(features, trace));
}

// Of examples with a label the mean loss counts like that of a batch of nothing else.
Tensor TransferModel::losses(const Batch& batch, Trace& trace) {
  const Found found = find(features(batch, trace), trace);
  const auto each = [](const Tensor& scores, const Tensor& classes) {
    return torch::cross_entropy_loss(scores, classes, {}, at::Reduction::None, Batch::kNoLabel);
  };
  const Tensor labels = batch.labels.defined() ? batch.labels
                                               : torch::full({batch.size()}, Batch::kNoLabel,
                                                             torch::TensorOptions(torch::kInt64));
  const Tensor domain = labels.lt(0).to(torch::kInt64);
  const auto labelled = static_cast<double>(batch.size() - domain.sum().item<std::int64_t>());
  const Tensor task = each(chosen(found), labels);
  const Tensor shared =
      each(shared_domain_->forward(with_gradient_times(found.shared, -reversal_)), domain);
  const Tensor own = each(own_domain_->forward(with_gradient_times(found.own, reversal_)), domain);
  const double weight = labelled > 0 ? static_cast<double>(batch.size()) / labelled : 0;
  return task * weight + shared + own;
}

}  // namespace heed
