#include "heed/train/trainer.hpp"

#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "heed/attention/reinforce.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/random.hpp"
#include "heed/data/safetensors.hpp"
#include "heed/metrics/classification.hpp"
#include "heed/train/evaluation.hpp"
#include "train/checkpoint.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A run is read again from anywhere: its data paths must not depend on the working folder.
Config with_absolute_paths(Config config) {
  DataSource& source = config.task.source;
  for (std::string* path : {&source.data, &source.train, &source.val, &source.test}) {
    if (path->empty() || path->starts_with("builtin:") || fs::path(*path).is_absolute()) continue;
    const fs::path beside = source.base / *path;
    *path = fs::absolute(fs::exists(beside) ? beside : fs::path(*path)).lexically_normal().string();
  }
  return config;
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
  Trainer(const Config& config, const fs::path& out, bool resume, TrainObserver& observer)
      : files_{out},
        config_(checked_folder(with_absolute_paths(config), files_, resume)),
        observer_(observer),
        data_(load_dataset(config.task.source)) {
    HEED_CHECK(!data_.val.empty(), "{}: there is no validation part; set task.val_fraction above 0",
               config_.task.source.data);
    torch::manual_seed(static_cast<std::uint64_t>(config_.train.seed));
    run_.config = config_;
    run_.labels = data_.labels;
    run_.vocabulary = Vocabulary::from_examples(data_.train, {.min_count = config_.task.min_count});
    run_.model =
        std::make_shared<TaskModel>(config_, static_cast<std::int64_t>(run_.vocabulary.size()),
                                    static_cast<std::int64_t>(run_.labels.size()));
    observer_.on_data(data_.train.size(), data_.val.size(), data_.test.size());
  }

  TrainResult run() {
    save_vocabulary(files_, run_.vocabulary, run_.labels);
    write_file(files_.config(), to_toml(config_));
    Adam adam(*run_.model, config_.train.lr, config_.train.weight_decay);
    if (auto saved = load_checkpoint(files_, *run_.model, *reinforce_, adam)) {
      progress_ = std::move(*saved);
      observer_.on_resume(progress_.epoch, progress_.step);
    }
    while (!progress_.finished) run_epoch(adam);
    return finish();
  }

 private:
  void run_epoch(Adam& adam) {
    const auto seed = Random::derive(static_cast<std::uint64_t>(config_.train.seed),
                                     static_cast<std::uint64_t>(progress_.epoch));
    std::vector<std::int64_t> lengths;
    for (const Example& example : data_.train)
      lengths.push_back(static_cast<std::int64_t>(example.inputs.at("text").size()));
    const auto batches =
        bucket_batches(lengths, static_cast<std::size_t>(config_.train.batch), seed);
    double started = now(), saved = started;
    run_.model->train();
    for (; progress_.step < batches.size(); ++progress_.step) {
      if (now() - saved > config_.train.checkpoint_seconds) {
        progress_.epoch_seconds += now() - started;
        started = saved = now();
        save_checkpoint(files_, *run_.model, *reinforce_, adam, progress_);
      }
      torch::manual_seed(Random::derive(seed, progress_.step + 1));
      const Batch batch =
          collate(data_.train, batches[progress_.step], run_.vocabulary, run_.labels);
      const Tensor loss = learn(batch);
      adam.step(config_.train.clip);
      progress_.loss_sum += loss.item<double>() * static_cast<double>(batch.indices.size());
      progress_.loss_count += batch.indices.size();
      observer_.on_step(progress_.epoch, progress_.step + 1, batches.size(), loss.item<double>());
    }
    end_epoch(adam, progress_.epoch_seconds + now() - started);
  }

  // Gradients of the task's loss, of the terms the modules ask for, and of their random choices,
  // whose reward is what each example's own loss lacks. Returns the task's loss.
  Tensor learn(const Batch& batch) {
    Trace trace;
    const Tensor each = torch::cross_entropy_loss(run_.model->forward(batch, trace), batch.labels,
                                                  {}, at::Reduction::None);
    const Tensor loss = each.mean();
    Tensor whole = loss + reinforce_->loss(trace.choices(), -each.detach());
    for (const LossTerm& term : trace.losses()) whole = whole + term.value(batch.labels);
    whole.backward();
    return loss.detach();
  }

  void end_epoch(const Adam& adam, double seconds) {
    const Evaluation val = evaluate(run_, data_.val, {.weights = false});
    EpochRecord record{.epoch = progress_.epoch,
                       .train_loss = progress_.loss_sum / static_cast<double>(progress_.loss_count),
                       .val_loss = val.loss,
                       .val_accuracy = measure(run_, data_.val, val).front().value,
                       .seconds = seconds};
    const bool best = is_best(record);
    if (best) {
      write_safetensors(files_.weights(), state_of(*run_.model),
                        {{"epoch", std::to_string(record.epoch)}});
      progress_.best_epoch = record.epoch;
    }
    progress_.epochs.push_back(record);
    progress_.finished = record.epoch >= config_.train.epochs ||
                         (config_.train.patience > 0 &&
                          record.epoch - progress_.best_epoch >= config_.train.patience);
    progress_.epoch += 1;
    progress_.step = progress_.loss_count = 0;
    progress_.loss_sum = progress_.epoch_seconds = 0;
    save_metrics(files_, progress_.epochs);
    save_checkpoint(files_, *run_.model, *reinforce_, adam, progress_);
    observer_.on_epoch(record, best);
  }

  // Higher validation accuracy, then lower loss. Never the test part.
  bool is_best(const EpochRecord& record) const {
    for (const EpochRecord& other : progress_.epochs) {
      if (other.val_accuracy > record.val_accuracy) return false;
      if (other.val_accuracy == record.val_accuracy && other.val_loss <= record.val_loss)
        return false;
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
};

}  // namespace

TrainResult train(const Config& config, const fs::path& out, bool resume, TrainObserver& observer) {
  return Trainer(config, out, resume, observer).run();
}

}  // namespace heed
