#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "heed/dist/group.hpp"
#include "heed/models/task_model.hpp"

namespace heed {

struct EpochRecord {
  std::int64_t epoch = 0;  // from 1
  double train_loss = 0;
  double val_loss = 0;
  std::string metric;    // what the kind of task is judged by: accuracy, bleu …
  double val_score = 0;  // that metric, on the validation part
  double seconds = 0;
};

/// Told of the progress of a training; the default tells nobody.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_data(std::size_t /*train*/, std::size_t /*val*/, std::size_t /*test*/) {}
  virtual void on_resume(std::int64_t /*epoch*/, std::size_t /*step*/) {}
  /// A run goes on with another number of ranks than it had before.
  virtual void on_other_ranks(int /*before*/, int /*now*/) {}
  virtual void on_step(std::int64_t /*epoch*/, std::size_t /*step*/, std::size_t /*steps*/,
                       double /*loss*/) {}
  virtual void on_epoch(const EpochRecord& /*record*/, bool /*best*/) {}
};

struct TrainResult {
  std::vector<EpochRecord> epochs;
  std::int64_t best_epoch = 0;
  std::map<std::string, double> test;  // empty without a test part
  std::int64_t parameters = 0;
  double seconds = 0;
};

/// Makes the model that is trained; what it saves must load as the config's own.
using MakeModel = std::function<std::shared_ptr<TaskModel>(const Config&, const DataInfo&)>;

/// Trains `config` into the run directory `out`, evaluates the best epoch (by validation) on the
/// test part, and writes predictions and traces.
///
/// A killed run goes on with `resume`; at the same thread count it ends with the same bits as an
/// undisturbed one. Without `resume` a directory that holds a run is an InputError.
///
/// The ranks of a group share each batch, so that they learn what one process would; all call this
/// with the same config, each reads the data itself, and all return the same. The first alone
/// touches `out`. The same number of ranks gives the same bits; another gives the same losses up to
/// rounding, where nothing is drawn at random.
TrainResult train(const Config& config, const std::filesystem::path& out, bool resume,
                  TrainObserver& observer, const MakeModel& make = make_task_model,
                  dist::Group& group = dist::alone());

}  // namespace heed
