#include "heed/ablate/cell.hpp"

#include "base/hash.hpp"
#include "heed/base/error.hpp"
#include "heed/base/memory.hpp"
#include "heed/base/words.hpp"
#include "heed/metrics/compare.hpp"
#include "heed/train/evaluation.hpp"
#include "heed/train/trainer.hpp"

namespace heed::ablate {
namespace {

/// Enough of the training part to take one step.
std::vector<std::size_t> first_examples(const TaskModel& model, const Dataset& data) {
  constexpr std::size_t kFew = 2;
  const std::size_t count = model.whole() ? data.train.size() : std::min(kFew, data.train.size());
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < count; ++i) indices.push_back(i);
  return indices;
}

/// Which examples these are, in their order.
std::string fingerprint(std::span<const Example> examples) {
  std::uint64_t hash = hash_text("");
  for (const Example& example : examples) hash = hash_text(example.id + "\n", hash);
  return fmt::format("{}-{:016x}", examples.size(), hash);
}

PartResult measure_part(const LoadedRun& run, std::vector<Example> part, CellResult& result) {
  if (part.empty()) return {};
  const std::vector<Example> examples = run.info.seen(std::move(part));
  const Evaluation evaluation = evaluate(run, examples);
  PartResult measured{.loss = evaluation.loss, .examples = fingerprint(examples)};
  const std::vector<metrics::Metric> all = measure(run, examples, evaluation);
  for (const metrics::Metric& metric : all) measured.metrics[metric.name] = metric.value;
  const metrics::Metric& main = all.front();
  result.metric = main.name;
  result.more_is_better = more_is_better(main);
  measured.scores = metrics::segment_scores(main);
  return measured;
}

CellResult train_and_measure(const Config& config, const std::filesystem::path& folder) {
  TrainObserver silent;
  const TrainResult trained = train(config, folder, /*resume=*/true, silent);
  const LoadedRun run = load(folder);
  Dataset data = load_dataset(run.config.task.source);
  CellResult result{.parameters = trained.parameters,
                    .best_epoch = trained.best_epoch,
                    .epochs = static_cast<std::int64_t>(trained.epochs.size()),
                    .seconds = trained.seconds};
  result.test = measure_part(run, std::move(data.test), result);
  result.val = measure_part(run, std::move(data.val), result);
  result.memory = peak_memory();
  return result;
}

CellResult try_cell(const AblationFiles& files, const std::string& cell) {
  try {
    return train_and_measure(load_config(files.config(cell), registry()), files.run(cell));
  } catch (const InputError& error) {
    return {.failure = error.what()};
  } catch (const c10::Error& error) {
    return {.failure = split(error.what_without_backtrace(), '\n').front()};
  } catch (const std::bad_alloc&) {
    return {.failure = "out of memory"};
  } catch (const std::exception& error) {
    return {.failure = error.what()};
  }
}

}  // namespace

void FitCheck::read(const Config& config) {
  Config task;  // all that data_info looks at
  task.task = config.task;
  task.output = config.output;
  const std::string key = to_toml(task);
  if (info_ && key == read_for_) return;
  data_ = load_dataset(config.task.source);
  info_ = data_info(config, data_);
  data_.train = info_->seen(std::move(data_.train));
  read_for_ = key;
}

std::string FitCheck::operator()(const Config& config) {
  read(config);
  torch::NoGradGuard no_grad;
  try {
    const std::shared_ptr<TaskModel> model = make_task_model(config, *info_);
    Trace trace;
    model->losses(collate(data_.train, first_examples(*model, data_), *info_), trace);
  } catch (const InputError& error) {
    return error.what();
  } catch (const c10::Error&) {
    return "";  // no refusal but a defect: the cell will run into it and say so
  }
  return "";
}

CellResult run_cell(const AblationFiles& files, const std::string& cell) {
  HEED_CHECK(std::filesystem::exists(files.config(cell)),
             "{}: there is no cell '{}'; 'heed ablate CONFIG --out {} --plan' lays the grid out",
             files.folder.string(), cell, files.folder.string());
  CellResult result = try_cell(files, cell);
  write_result(files, cell, result);
  // What a finished run would go on with is three times its weights.
  if (result.failure.empty())
    std::filesystem::remove_all(RunFiles{files.run(cell)}.checkpoint().parent_path());
  return result;
}

}  // namespace heed::ablate
