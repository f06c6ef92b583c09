#include "heed/models/number_model.hpp"

namespace heed {
namespace {

DataInfo with_one_logit(DataInfo info) {
  info.labels = {"number"};
  return info;
}

}  // namespace

NumberModel::NumberModel(const Config& config, const DataInfo& info)
    : model_(register_module("model", std::make_shared<LabelModel>(config, with_one_logit(info)))) {
}

Tensor NumberModel::forward(const Batch& batch, Trace& trace) {
  return model_->forward(batch, trace).squeeze(1);
}

Tensor NumberModel::losses(const Batch& batch, Trace& trace) {
  return (forward(batch, trace) - batch.numbers.to(torch::kFloat32)).square();
}

Reply NumberModel::answer(const Batch& batch, Trace& trace) {
  const Tensor numbers = forward(batch, trace).to(torch::kFloat64);
  Reply reply;
  if (!batch.numbers.isnan().any().item<bool>()) reply.losses = (numbers - batch.numbers).square();
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    Prediction prediction;
    prediction.number = numbers[b].item<double>();
    reply.predictions.push_back(std::move(prediction));
  }
  return reply;
}

}  // namespace heed
