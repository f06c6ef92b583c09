#include "train/checkpoint.hpp"

#include <nlohmann/json.hpp>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/data/safetensors.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kProgress = "heed.progress";
constexpr const char* kModel = "model.";
constexpr const char* kReinforce = "reinforce.";

Json to_json(const EpochRecord& r) {
  return {{"epoch", r.epoch},
          {"train_loss", r.train_loss},
          {"val_loss", r.val_loss},
          {"val_" + r.metric, r.val_score},
          {"seconds", r.seconds}};
}

Json to_json(const Progress& p) {
  Json epochs = Json::array();
  for (const EpochRecord& record : p.epochs) epochs.push_back(to_json(record));
  return {{"epoch", p.epoch},
          {"step", p.step},
          {"loss_sum", p.loss_sum},
          {"loss_count", p.loss_count},
          {"epoch_seconds", p.epoch_seconds},
          {"epochs", epochs},
          {"metric", p.epochs.empty() ? "" : p.epochs.front().metric},
          {"best_epoch", p.best_epoch},
          {"finished", p.finished},
          {"ranks", p.ranks}};
}

Progress from_json(const Json& json) {
  Progress p{.epoch = json.at("epoch"),
             .step = json.at("step"),
             .loss_sum = json.at("loss_sum"),
             .loss_count = json.at("loss_count"),
             .epoch_seconds = json.at("epoch_seconds"),
             .epochs = {},
             .best_epoch = json.at("best_epoch"),
             .finished = json.at("finished"),
             .ranks = json.value("ranks", 1)};  // older checkpoints are of one process
  const std::string metric = json.at("metric");
  for (const Json& record : json.at("epochs")) {
    p.epochs.push_back({.epoch = record.at("epoch"),
                        .train_loss = record.at("train_loss"),
                        .val_loss = record.at("val_loss"),
                        .metric = metric,
                        .val_score = record.at("val_" + metric),
                        .seconds = record.at("seconds")});
  }
  return p;
}

}  // namespace

std::string to_text(const Progress& progress) { return to_json(progress).dump(); }

Progress progress_from(const std::string& text) { return from_json(Json::parse(text)); }

void save_checkpoint(const RunFiles& files, const torch::nn::Module& model,
                     const torch::nn::Module& reinforce, const Optimiser& optimiser,
                     const Progress& progress) {
  NamedTensors tensors = optimiser.state();
  for (auto& [name, tensor] : state_of(model)) tensors.emplace_back(kModel + name, tensor);
  for (auto& [name, tensor] : state_of(reinforce)) tensors.emplace_back(kReinforce + name, tensor);
  write_safetensors(files.checkpoint(), tensors, {{kProgress, to_text(progress)}});
}

std::optional<Progress> load_checkpoint(const RunFiles& files, torch::nn::Module& model,
                                        torch::nn::Module& reinforce, Optimiser& optimiser) {
  if (!std::filesystem::exists(files.checkpoint())) return std::nullopt;
  const std::string source = files.checkpoint().string();
  const SafeTensors saved = read_safetensors(files.checkpoint());
  const auto restore = [&](torch::nn::Module& module, const std::string& prefix) {
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, tensor] : saved.tensors) {
      if (name.starts_with(prefix)) tensors[name.substr(prefix.size())] = tensor;
    }
    restore_state(module, tensors, source);
  };
  restore(model, kModel);
  restore(reinforce, kReinforce);
  optimiser.restore(saved.tensors, source);
  try {
    return progress_from(saved.metadata.at(kProgress));
  } catch (const std::exception&) {
    throw InputError(fmt::format("{}: damaged: where the training stood is missing", source));
  }
}

void save_metrics(const RunFiles& files, const std::vector<EpochRecord>& epochs,
                  const std::string& last_line) {
  std::string text;
  for (const EpochRecord& record : epochs) text += to_json(record).dump() + "\n";
  write_file(files.metrics(), text + last_line);
}

}  // namespace heed
