#include "heed/train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "heed/attention/reinforce.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/random.hpp"
#include "heed/data/safetensors.hpp"
#include "heed/models/config_paths.hpp"
#include "heed/train/evaluation.hpp"
#include "train/checkpoint.hpp"
#include "train/supervise.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr double kShortEpoch = 0.5;  // seconds

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Before any work: a run that cannot be written, or is another's, costs the user nothing.
Config checked_folder(Config config, const RunFiles& files, bool resume) {
  if (fs::exists(files.config())) {
    HEED_CHECK(resume,
               "{}: holds a run already; add --resume to go on with it, or choose another --out",
               files.folder.string());
    HEED_CHECK(read_file(files.config()) == to_toml(config),
               "{}: the config is not the one this run was started with; choose another --out",
               files.config().string());
  }
  make_writable_folder(files.folder / "state");
  return config;
}

/// One training: what the epochs share.
class Trainer {
 public:
  Trainer(const Config& config, const fs::path& out, bool resume, TrainObserver& observer,
          const MakeModel& make)
      : files_{out},
        config_(checked_folder(with_absolute_paths(config), files_, resume)),
        observer_(observer),
        data_(load_dataset(config.task.source)) {
    HEED_CHECK(!data_.val.empty(), "{}: there is no validation part; set task.val_fraction above 0",
               config_.task.source.data);
    HEED_CHECK(config_.train.supervise == 0 || std::ranges::any_of(data_.train, has_gold),
               "train.supervise: the training part has no gold attention; a rationale column, "
               "links or task.human give it");
    torch::manual_seed(static_cast<std::uint64_t>(config_.train.seed));
    run_.config = config_;
    run_.info = data_info(config_, data_);
    for (auto* part : {&data_.train, &data_.val, &data_.test})
      *part = run_.info.seen(std::move(*part));
    run_.model = make(config_, run_.info);
    observer_.on_data(data_.train.size(), data_.val.size(), data_.test.size());
  }

  TrainResult run() {
    save_info(files_, run_.info);
    write_file(files_.config(), to_toml(config_));
    Optimiser optimiser(*run_.model, config_.train);
    if (auto saved = load_checkpoint(files_, *run_.model, *reinforce_, optimiser)) {
      progress_ = std::move(*saved);
      observer_.on_resume(progress_.epoch, progress_.step);
    }
    while (!progress_.finished) run_epoch(optimiser);
    return finish();
  }

 private:
  void run_epoch(Optimiser& optimiser) {
    const auto seed = Random::derive(static_cast<std::uint64_t>(config_.train.seed),
                                     static_cast<std::uint64_t>(progress_.epoch));
    const auto batches = epoch_batches(seed);
    const auto accumulate = static_cast<std::size_t>(config_.train.accumulate);
    const std::size_t steps = (batches.size() + accumulate - 1) / accumulate;
    double started = now();
    run_.model->train();
    for (; progress_.step < steps; ++progress_.step) {
      if (now() - saved_ > config_.train.checkpoint_seconds) {
        progress_.epoch_seconds += now() - started;
        started = now();
        checkpoint(optimiser);
      }
      torch::manual_seed(Random::derive(seed, progress_.step + 1));
      const std::size_t first = progress_.step * accumulate;
      const std::size_t last = std::min(first + accumulate, batches.size());
      double loss = 0;
      std::size_t count = 0;
      for (std::size_t i = first; i < last; ++i) {
        loss += learn(batches[i], static_cast<double>(last - first));
        count += batches[i].size();
      }
      const auto done = (progress_.epoch - 1) * static_cast<std::int64_t>(steps) +
                        static_cast<std::int64_t>(progress_.step);
      optimiser.step(schedule_factor(config_.train, done,
                                     config_.train.epochs * static_cast<std::int64_t>(steps)));
      progress_.loss_sum += loss;
      progress_.loss_count += count;
      observer_.on_step(progress_.epoch, progress_.step + 1, steps,
                        loss / static_cast<double>(count));
    }
    end_epoch(optimiser, progress_.epoch_seconds + now() - started);
  }

  std::vector<std::vector<std::size_t>> epoch_batches(std::uint64_t seed) const {
    std::vector<std::int64_t> lengths;
    for (const Example& example : data_.train) lengths.push_back(total_length(example));
    const std::size_t size =
        run_.model->whole() ? data_.train.size() : static_cast<std::size_t>(config_.train.batch);
    return bucket_batches(lengths, size, seed);
  }

  // Gradients of the task's loss, of the terms the modules ask for, and of their random choices,
  // whose reward is what each example's own loss lacks, all divided by `parts`. Returns the sum of
  // the task's losses.
  double learn(const std::vector<std::size_t>& indices, double parts) {
    const Batch batch = collate(data_.train, indices, run_.info);
    Trace trace = config_.train.supervise > 0 ? Trace::differentiable() : Trace();
    const Tensor each = run_.model->losses(batch, trace);
    Tensor whole = each.mean() + reinforce_->loss(trace.choices(), -each.detach());
    for (const LossTerm& term : trace.losses()) whole = whole + term.value(batch.labels);
    if (config_.train.supervise > 0) {
      const Tensor pull = attention_loss(trace, batch, data_.train, config_.train);
      const bool told = std::ranges::any_of(
          indices, [&](std::size_t index) { return has_gold(data_.train[index]); });
      HEED_CHECK(pull.defined() || !told,
                 "train.supervise: the data has no gold attention for an input that mechanism '{}' "
                 "looks at",
                 config_.attention.mechanism.id);
      if (pull.defined()) whole = whole + config_.train.supervise * pull;
    }
    (whole / parts).backward();
    return each.detach().sum().item<double>();
  }

  void end_epoch(Optimiser& optimiser, double seconds) {
    optimiser.swap_average();
    const Evaluation val = evaluate(run_, data_.val, {.weights = false, .quick = true});
    const metrics::Metric score = measure(run_, data_.val, val).front();
    EpochRecord record{.epoch = progress_.epoch,
                       .train_loss = progress_.loss_sum / static_cast<double>(progress_.loss_count),
                       .val_loss = val.loss,
                       .metric = score.name,
                       .val_score = score.value,
                       .seconds = seconds};
    const bool best = is_best(record, more_is_better(score));
    if (best) {
      best_.clear();
      for (const auto& [name, tensor] : state_of(*run_.model))
        best_.emplace_back(name, tensor.clone());
      progress_.best_epoch = record.epoch;
    }
    optimiser.swap_average();
    progress_.epochs.push_back(record);
    progress_.finished = record.epoch >= config_.train.epochs ||
                         (config_.train.patience > 0 &&
                          record.epoch - progress_.best_epoch >= config_.train.patience);
    progress_.epoch += 1;
    progress_.step = progress_.loss_count = 0;
    progress_.loss_sum = progress_.epoch_seconds = 0;
    // An epoch of some milliseconds is not worth a file.
    if (progress_.finished || progress_.epochs.size() == 1 ||
        now() - saved_ > std::min(kShortEpoch, config_.train.checkpoint_seconds)) {
      save_metrics(files_, progress_.epochs);
      checkpoint(optimiser);
    }
    observer_.on_epoch(record, best);
  }

  void checkpoint(Optimiser& optimiser) {
    if (!best_.empty()) {
      write_safetensors(files_.weights(), best_, {{"epoch", std::to_string(progress_.best_epoch)}});
      best_.clear();
    }
    save_checkpoint(files_, *run_.model, *reinforce_, optimiser, progress_);
    saved_ = now();
  }

  // The better validation score, then the lower loss; or the loss alone. Never the test part.
  bool is_best(const EpochRecord& record, bool more) const {
    for (const EpochRecord& other : progress_.epochs) {
      if (config_.train.select == "loss") {
        if (other.val_loss <= record.val_loss) return false;
        continue;
      }
      if (more ? other.val_score > record.val_score : other.val_score < record.val_score)
        return false;
      if (other.val_score == record.val_score && other.val_loss <= record.val_loss) return false;
    }
    return true;
  }

  // The best weights on the test part: predictions, traces, the last line of metrics.jsonl.
  TrainResult finish() {
    TrainResult result{.epochs = progress_.epochs,
                       .best_epoch = progress_.best_epoch,
                       .test = {},
                       .parameters = run_.model->parameter_count()};
    for (const EpochRecord& record : result.epochs) result.seconds += record.seconds;
    restore_state(*run_.model, read_safetensors(files_.weights()).tensors,
                  files_.weights().string());
    Json last{
        {"split", "test"},
        {"best_epoch", result.best_epoch},
        {"parameters", result.parameters},
        {"train_seconds", result.seconds},
        {"counts",
         {{"train", data_.train.size()}, {"val", data_.val.size()}, {"test", data_.test.size()}}}};
    std::string predictions, traces;
    if (!data_.test.empty()) {
      const Evaluation test = evaluate(run_, data_.test);
      last["loss"] = test.loss;
      for (const metrics::Metric& metric : measure(run_, data_.test, test)) {
        last["metrics"][metric.name] = {
            {"value", metric.value}, {"signature", metric.signature}, {"details", metric.details}};
        result.test[metric.name] = metric.value;
      }
      for (std::size_t i = 0; i < data_.test.size(); ++i) {
        Prediction prediction = test.predictions[i];
        if (i < static_cast<std::size_t>(config_.train.traces))
          traces += to_json_line(run_, data_.test[i], prediction);
        prediction.maps.clear();
        predictions += to_json_line(run_, data_.test[i], prediction);
      }
    }
    write_file(files_.traces(), traces);
    write_file(files_.predictions(), predictions);
    save_metrics(files_, progress_.epochs, last.dump() + "\n");
    return result;
  }

  RunFiles files_;
  Config config_;
  TrainObserver& observer_;
  Dataset data_;
  LoadedRun run_;
  Reinforce reinforce_;
  Progress progress_;
  double saved_ = now();  // the last checkpoint
  NamedTensors best_;     // weights that are not in their file yet; empty: none
};

}  // namespace

TrainResult train(const Config& config, const fs::path& out, bool resume, TrainObserver& observer,
                  const MakeModel& make) {
  return Trainer(config, out, resume, observer, make).run();
}

}  // namespace heed
