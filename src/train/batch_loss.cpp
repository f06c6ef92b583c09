#include "train/batch_loss.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/base/error.hpp"
#include "train/supervise.hpp"

namespace heed {

double BatchLoss::learn(const Indices& piece, const Indices& batch, double parts) {
  const Indices own = examples_.own(piece);
  const double share = static_cast<double>(own.size()) / static_cast<double>(piece.size());
  parts *= static_cast<double>(batch.size()) / static_cast<double>(piece.size());
  Tensor loss;
  double sum = 0;
  if (!own.empty()) {
    std::tie(loss, sum) = loss_of(own, piece, batch);
  } else if (run_.config.train.supervise > 0) {
    count_over_ranks({});  // the others ask
  }
  // The baseline is linear in the rewards, so its mean over the ranks is that of all rewards.
  const NamedTensors baseline = state_of(*reinforce_);
  std::vector<double> agreed = {sum};
  for (const auto& [name, value] : baseline) agreed.push_back(share * value.item<double>());
  const auto work = group_.sum(agreed);
  if (loss.defined()) (loss / (parts / share)).backward();
  work->wait();
  if (group_.size() > 1) {
    for (std::size_t i = 0; i < baseline.size(); ++i) baseline[i].second.fill_(agreed[i + 1]);
  }
  return agreed.front();
}

// The task's loss, the terms the modules ask for, and the loss of their random choices, whose
// reward is what each example's own loss lacks: means over this rank's part, which weighed by its
// size add up to those over the batch. And the sum of the task's losses.
std::pair<Tensor, double> BatchLoss::loss_of(const Indices& own, const Indices& piece,
                                             const Indices& batch) {
  const Batch part = collate(examples_.here(), examples_.places(own), run_.info);
  const bool supervised = run_.config.train.supervise > 0;
  Trace trace = supervised ? Trace::differentiable() : Trace();
  Tensor each = run_.model->losses(part, trace);
  const double scale = answers_each(own) / answers_each(batch);
  if (scale != 1) each = each * scale;
  Tensor whole = each.mean() + reinforce_->loss(trace.choices(), -each.detach());
  for (const LossTerm& term : trace.losses()) whole = whole + term.value(part.labels);
  if (supervised) {
    if (const Tensor pull = supervision(trace, part, piece); pull.defined()) whole = whole + pull;
  }
  return {whole, each.detach().sum().item<double>()};
}

Tensor BatchLoss::supervision(const Trace& trace, const Batch& part, const Indices& piece) {
  const Config& config = run_.config;
  const Tensor pull = attention_loss(
      trace, part, examples_.here(), config.train,
      [this](auto counts) { return group_.size() > 1 ? count_over_ranks(counts) : counts; });
  const bool told = std::ranges::any_of(
      part.indices, [&](std::size_t index) { return has_gold(examples_.here()[index]); });
  HEED_CHECK(pull.defined() || !told,
             "train.supervise: the data has no gold attention for an input that mechanism '{}' "
             "looks at",
             config.attention.mechanism.id);
  if (!pull.defined()) return pull;
  // Already a share of the mean over all ranks, so what the part will be weighed by is taken back.
  const double share = static_cast<double>(part.size()) / static_cast<double>(piece.size());
  return config.train.supervise / share * pull;
}

// In the mean.
double BatchLoss::answers_each(const Indices& indices) const {
  double answers = 0;
  for (const std::size_t index : indices) answers += examples_.answers_in(index);
  return answers / static_cast<double>(indices.size());
}

std::vector<std::int64_t> BatchLoss::count_over_ranks(const std::vector<std::int64_t>& own) {
  using Counts = std::vector<std::int64_t>;
  Counts all;
  for (const std::string& text : group_.gather(nlohmann::json(own).dump())) {
    const auto counts = nlohmann::json::parse(text).get<Counts>();
    all.resize(std::max(all.size(), counts.size()), -1);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] >= 0) all[i] = std::max<std::int64_t>(0, all[i]) + counts[i];
    }
  }
  return all;
}

}  // namespace heed
