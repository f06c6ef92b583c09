#include "heed/models/recommend_model.hpp"

#include <limits>

#include "heed/base/error.hpp"
#include "models/user_memory.hpp"
#include "models/wiring.hpp"

namespace heed {
namespace {

constexpr std::int64_t kShown = 10;  // items of an answer

bool remembers(const Config& config) { return config.output.id == "memory"; }

/// What is trained is a softmax, whether a memory is asked beside it or not.
std::shared_ptr<LabelModel> trained_part(Config config, const DataInfo& info) {
  if (remembers(config)) config.output = {"softmax"};
  return std::make_shared<LabelModel>(config, info);
}

std::shared_ptr<const Mechanism> with_memory(const Mechanism& trained) {
  std::vector<WiringStep> steps = trained.wiring();
  steps.push_back({.name = "memory",
                   .query = "all histories",
                   .keys = "users in training",
                   .output = "m",
                   .score = "similarity",
                   .beside = true});
  return std::make_shared<DescribedWiring>(std::move(steps), trained.output_dim());
}

}  // namespace

RecommendModel::RecommendModel(const Config& config, const DataInfo& info)
    : model_(register_module("model", trained_part(config, info))), items_(info.labels) {
  HEED_CHECK(model_->output(), "model: mechanism '{}' answers by itself; items need a context",
             config.attention.mechanism.id);
  const Options options = resolve(registry().find_built(Group::output, config.output.id),
                                  config.output.options, "output");
  sampled_ = get<std::int64_t>(options, "sampled");
  wiring_ = std::shared_ptr<const Mechanism>(model_, &model_->attention());
  if (!remembers(config)) return;
  memory_ = std::make_shared<UserMemory>(info.users, options);
  wiring_ = with_memory(model_->attention());
}

// The others are drawn evenly, for the whole batch at once: one product with their rows. One that
// is some example's right item by chance does not count against it.
Tensor RecommendModel::losses(const Batch& batch, Trace& trace) {
  const auto items = static_cast<std::int64_t>(items_.size());
  if (sampled_ == 0 || sampled_ >= items) return model_->losses(batch, trace);
  const Tensor found = model_->context(batch, trace);
  const Tensor weight = model_->output()->weight, bias = model_->output()->bias;
  const Tensor others = torch::randint(items, {sampled_}, torch::kInt64);
  const Tensor right =
      (found * weight.index_select(0, batch.labels)).sum(1) + bias.index_select(0, batch.labels);
  const Tensor wrong =
      torch::addmm(bias.index_select(0, others), found, weight.index_select(0, others).t())
          .masked_fill(others.unsqueeze(0) == batch.labels.unsqueeze(1),
                       -std::numeric_limits<float>::infinity());
  return torch::logsumexp(torch::cat({right.unsqueeze(1), wrong}, 1), 1) - right;
}

Reply RecommendModel::answer(const Batch& batch, Trace& trace) {
  Tensor scores = model_->forward(batch, trace);
  if (memory_) scores = scores + memory_->logits(batch);
  Reply reply;
  if (batch.labels.defined() && batch.labels.ge(0).all().item<bool>())
    reply.losses = torch::cross_entropy_loss(scores, batch.labels, {}, at::Reduction::None);
  const auto candidates = batch.inputs.find("candidates");
  HEED_CHECK(candidates != batch.inputs.end(),
             "recommend: there is nothing to rank for users of the training part; those of val and "
             "test have candidates");
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    const std::int64_t count = candidates->second.lengths[b].item<std::int64_t>();
    const Tensor own = candidates->second.values[b].slice(0, 0, count).squeeze(1).to(torch::kInt64);
    const Tensor best = std::get<1>(
        scores[b].index_select(0, own).topk(std::min(kShown, count), 0, true, /*sorted=*/true));
    Prediction prediction;
    for (std::int64_t i = 0; i < best.size(0); ++i) {
      const auto item = own[best[i]].item<std::int64_t>();
      prediction.sequence.push_back(items_.at(static_cast<std::size_t>(item)));
    }
    reply.predictions.push_back(std::move(prediction));
  }
  return reply;
}

}  // namespace heed
