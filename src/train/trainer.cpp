#include "heed/train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/memory.hpp"
#include "heed/base/random.hpp"
#include "heed/data/safetensors.hpp"
#include "heed/models/config_paths.hpp"
#include "heed/train/evaluation.hpp"
#include "train/batch_loss.hpp"
#include "train/checkpoint.hpp"
#include "train/example_share.hpp"
#include "train/gradient_sum.hpp"
#include "train/sharing.hpp"
#include "train/supervise.hpp"

namespace heed {
namespace {

using Indices = std::vector<std::size_t>;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr double kShortEpoch = 0.5;  // seconds

// Positions that are learned from at once: fewer are no matter of memory, nor are so many times
// those of a usual batch.
constexpr double kFewPlaces = 1 << 14, kUsualBatches = 1.5;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Before any work: a run that cannot be written, or is another's, costs the user nothing.
void check_folder(const Config& config, const RunFiles& files, bool resume) {
  if (fs::exists(files.config())) {
    HEED_CHECK(resume,
               "{}: holds a run already; add --resume to go on with it, or choose another --out",
               files.folder.string());
    HEED_CHECK(read_file(files.config()) == to_toml(config),
               "{}: the config is not the one this run was started with; choose another --out",
               files.config().string());
  }
  make_writable_folder(files.folder / "state");
}

std::vector<Tensor> trained_parameters(const torch::nn::Module& model) {
  std::vector<Tensor> parameters;
  for (const Tensor& parameter : model.parameters()) {
    if (parameter.requires_grad()) parameters.push_back(parameter);
  }
  return parameters;
}

/// One training: what the epochs share.
class Trainer {
 public:
  Trainer(const Config& config, const fs::path& out, bool resume, TrainObserver& observer,
          const MakeModel& make, dist::Group& group)
      : files_{out}, config_(with_absolute_paths(config)), observer_(observer), group_(group) {
    if (group_.first()) check_folder(config_, files_, resume);
    DataSource source = config.task.source;
    source.share = {.rank = static_cast<std::size_t>(group_.rank()),
                    .ranks = static_cast<std::size_t>(group_.size())};
    data_ = load_dataset(source);
    if (group_.size() > 1)
      check_alike({{"config", to_toml(config_)}, {"data", digest(data_)}}, group_);
    complete(data_.val, data_.val_held, group_);
    HEED_CHECK(!data_.val.empty(), "{}: there is no validation part; {}",
               source.data.empty() ? source.train : source.data,
               data_.graph                ? "give some nodes the split 'val'"
               : source.val_fraction == 0 ? "set task.val_fraction above 0"
                                          : "there is too little data to hold one out");
    HEED_CHECK(
        config_.train.supervise == 0 || anyone(std::ranges::any_of(data_.train, has_gold), group_),
        "train.supervise: the training part has no gold attention; a rationale column, "
        "links or task.human give it");
    torch::manual_seed(static_cast<std::uint64_t>(config_.train.seed));
    run_.config = config_;
    run_.info = data_info(config_, data_, group_);
    for (auto* part : {&data_.train, &data_.val, &data_.test})
      *part = run_.info.seen(std::move(*part));
    run_.model = make(config_, run_.info);
    examples_.take(std::move(data_.train), data_.train_held, *run_.model);
    most_places_ = most_places();
    observer_.on_data(examples_.size(), data_.val.size(), data_.test.size());
  }

  TrainResult run() {
    if (group_.first()) {
      save_info(files_, run_.info);
      write_file(files_.config(), to_toml(config_));
    }
    Optimiser optimiser(*run_.model, config_.train);
    start_from_first(optimiser);
    GradientSum sum(trained_parameters(*run_.model), group_);
    while (!progress_.finished) run_epoch(optimiser, sum);
    return finish();
  }

 private:
  // The others need no run directory: they get what the first has read or made.
  void start_from_first(Optimiser& optimiser) {
    std::string where;
    if (group_.first()) {
      if (const auto saved = load_checkpoint(files_, *run_.model, loss_.baseline(), optimiser))
        where = to_text(*saved);
    }
    NamedTensors state = optimiser.state();
    for (const auto& part : {state_of(*run_.model), state_of(loss_.baseline())})
      state.insert(state.end(), part.begin(), part.end());
    check_alike({{"model", digest(state)}}, group_);
    set_to_first(state, group_);
    where = from_first(where, group_);
    if (!where.empty()) {
      progress_ = progress_from(where);
      observer_.on_resume(progress_.epoch, progress_.step);
      if (progress_.ranks != group_.size())
        observer_.on_other_ranks(progress_.ranks, group_.size());
    }
    progress_.ranks = group_.size();
  }

  void run_epoch(Optimiser& optimiser, GradientSum& sum) {
    const auto seed = Random::derive(static_cast<std::uint64_t>(config_.train.seed),
                                     static_cast<std::uint64_t>(progress_.epoch));
    const auto batches = epoch_batches(seed);
    examples_.deal(batches);
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
      torch::manual_seed(rank_seed(Random::derive(seed, progress_.step + 1)));
      const std::size_t first = progress_.step * accumulate;
      const std::size_t last = std::min(first + accumulate, batches.size());
      double loss = 0;
      std::size_t count = 0;
      for (std::size_t i = first; i < last; ++i) {
        const std::vector<Indices> pieces = pieces_of(batches[i]);
        for (const Indices& piece : pieces) {
          if (i + 1 == last && &piece == &pieces.back()) sum.start();
          loss += loss_.learn(piece, batches[i], static_cast<double>(last - first));
        }
        count += batches[i].size();
      }
      sum.finish();
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
    const std::size_t size =
        run_.model->whole() ? examples_.size() : static_cast<std::size_t>(config_.train.batch);
    return bucket_batches(examples_.lengths(), size, seed);
  }

  // Batches are of texts of like length: one of long texts is learned from in pieces, so that it
  // does not need many times the memory of the others.
  std::vector<Indices> pieces_of(const Indices& batch) const {
    if (run_.model->whole()) return {batch};
    std::vector<std::int64_t> lengths;
    for (const std::size_t index : batch) lengths.push_back(examples_.lengths()[index]);
    std::vector<Indices> pieces =
        in_order_batches(lengths, std::max<std::size_t>(1, batch.size()), most_places_);
    for (Indices& piece : pieces) {
      for (std::size_t& place : piece) place = batch[place];
    }
    return pieces;
  }

  std::size_t most_places() const {
    const std::span<const std::int64_t> lengths = examples_.lengths();
    const double each = static_cast<double>(std::reduce(lengths.begin(), lengths.end())) /
                        static_cast<double>(std::max<std::size_t>(1, lengths.size()));
    const double usual = each * static_cast<double>(config_.train.batch);
    return static_cast<std::size_t>(std::max(kFewPlaces, kUsualBatches * usual));
  }

  // Each rank draws its own dropout; a single process draws what the first rank does.
  std::uint64_t rank_seed(std::uint64_t seed) const {
    return group_.first() ? seed : Random::derive(seed, static_cast<std::uint64_t>(group_.rank()));
  }

  void end_epoch(Optimiser& optimiser, double seconds) {
    optimiser.swap_average();
    if (seconds > kShortEpoch) give_back_memory();  // evaluation needs room of other sizes
    const Evaluation val = evaluate(run_, data_.val, {.weights = false, .quick = true}, group_);
    const metrics::Metric score = measure(run_, data_.val, val).front();
    EpochRecord record{.epoch = progress_.epoch,
                       .train_loss = progress_.loss_sum / static_cast<double>(progress_.loss_count),
                       .val_loss = val.loss,
                       .metric = score.name,
                       .val_score = score.value,
                       .seconds = seconds};
    const bool best = is_best(record, more_is_better(score));
    if (best) {
      progress_.best_epoch = record.epoch;
      keep_best();
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
      if (group_.first()) save_metrics(files_, progress_.epochs);
      checkpoint(optimiser);
    }
    observer_.on_epoch(record, best);
  }

  void keep_best() {
    best_.clear();
    if (!group_.first()) return;
    for (const auto& [name, tensor] : state_of(*run_.model))
      best_.emplace_back(name, tensor.clone());
  }

  void checkpoint(Optimiser& optimiser) {
    saved_ = now();
    if (!group_.first()) return;
    if (!best_.empty()) {
      write_safetensors(files_.weights(), best_, {{"epoch", std::to_string(progress_.best_epoch)}});
      best_.clear();
    }
    save_checkpoint(files_, *run_.model, loss_.baseline(), optimiser, progress_);
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
    if (group_.first())
      restore_state(*run_.model, read_safetensors(files_.weights()).tensors,
                    files_.weights().string());
    set_to_first(state_of(*run_.model), group_);
    Json last{
        {"split", "test"},
        {"best_epoch", result.best_epoch},
        {"parameters", result.parameters},
        {"train_seconds", result.seconds},
        {"counts",
         {{"train", examples_.size()}, {"val", data_.val.size()}, {"test", data_.test.size()}}}};
    std::string predictions, traces;
    if (!data_.test.empty()) {
      const Evaluation test = evaluate(run_, data_.test, {}, group_);
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
    if (group_.first()) {
      write_file(files_.traces(), traces);
      write_file(files_.predictions(), predictions);
      save_metrics(files_, progress_.epochs, last.dump() + "\n");
    }
    return result;
  }

  RunFiles files_;
  Config config_;
  TrainObserver& observer_;
  dist::Group& group_;
  Dataset data_;  // its training part goes to examples_
  LoadedRun run_;
  ExampleShare examples_{group_};
  BatchLoss loss_{run_, examples_, group_};
  std::size_t most_places_ = 0;  // of a piece of a batch
  Progress progress_;
  double saved_ = now();  // the last checkpoint
  NamedTensors best_;     // weights that are not in their file yet; empty: none
};

}  // namespace

TrainResult train(const Config& config, const fs::path& out, bool resume, TrainObserver& observer,
                  const MakeModel& make, dist::Group& group) {
  return Trainer(config, out, resume, observer, make, group).run();
}

}  // namespace heed
