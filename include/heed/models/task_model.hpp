#pragma once
#include <torch/nn/module.h>

#include <filesystem>
#include <memory>

#include "heed/data/batches.hpp"
#include "heed/dist/group.hpp"
#include "heed/mechanisms/mechanism.hpp"
#include "heed/models/config.hpp"

namespace heed {

/// Every part there is: of attention, mechanisms and models.
const Registry& registry();

/// What a model said of one example. A kind of task fills what it answers with.
struct Prediction {
  std::size_t label = 0;                   // index into the labels
  std::vector<float> probabilities;        // of each label; empty: the task has no classes
  std::vector<std::string> sequence = {};  // of tasks that answer with a sequence
  double number = 0;                       // of tasks that answer with a number
  std::vector<double> log_probs = {};      // of each word of the right sequence and its end
  std::vector<TraceMap> maps = {};         // of this entry alone, cut to its lengths
};

/// What a model says of a batch.
struct Reply {
  Tensor losses;                        // [B]; undefined when an answer is not known
  std::vector<Prediction> predictions;  // without maps
};

/// The survey's task model: feature model, query model, attention, output model. One class for each
/// family of answers.
class TaskModel : public torch::nn::Module {
 public:
  /// The loss of each example, [B], to learn from. Weights given in the trace for a module this
  /// model does not have are an InputError.
  virtual Tensor losses(const Batch& batch, Trace& trace) = 0;
  /// The answers, and the losses where the right answers are known; called without gradients.
  virtual Reply answer(const Batch& batch, Trace& trace) = 0;
  /// The wiring, for descriptions.
  virtual const Mechanism& attention() const = 0;
  /// How many answers an example's loss is a sum of, where losses are weighed so that their mean
  /// over a batch is the mean over its answers: words of a translation. Else 1.
  virtual double answers_in(const Example& /*example*/) const { return 1; }
  /// True if every step must see all examples: nodes of one graph.
  virtual bool whole() const { return false; }
  /// Whether answers may be rough, where better ones cost more: while it trains.
  virtual void answer_quickly(bool /*quickly*/) {}

  std::int64_t parameter_count() const;
};

/// The model that the config's kind of task calls for.
std::shared_ptr<TaskModel> make_task_model(const Config& config, const DataInfo& info);

/// A trained model and what it needs to read data.
struct LoadedRun {
  Config config;
  DataInfo info;
  std::shared_ptr<TaskModel> model;
};

/// The names of the files in a run directory.
struct RunFiles {
  std::filesystem::path folder;
  std::filesystem::path config() const { return folder / "config.toml"; }
  std::filesystem::path vocabulary() const { return folder / "vocabulary.json"; }
  std::filesystem::path subwords() const { return folder / "subwords.model"; }
  std::filesystem::path users() const { return folder / "users.safetensors"; }
  std::filesystem::path weights() const { return folder / "weights.safetensors"; }
  std::filesystem::path metrics() const { return folder / "metrics.jsonl"; }
  std::filesystem::path checkpoint() const { return folder / "state" / "checkpoint.safetensors"; }
  std::filesystem::path predictions() const { return folder / "predictions.jsonl"; }
  std::filesystem::path traces() const { return folder / "traces.jsonl"; }
  std::filesystem::path report() const { return folder / "report.html"; }
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// The parameters and buffers by name, as they are saved; they share the model's memory.
NamedTensors state_of(const torch::nn::Module& model);

/// Copies saved tensors into the model; a missing, surplus or misshapen one is an InputError that
/// names `source`.
void restore_state(torch::nn::Module& model, const std::map<std::string, Tensor>& tensors,
                   const std::string& source);

/// What a model must know of the data, from the data itself; words that ranks have read in parts
/// are counted together.
DataInfo data_info(const Config& config, const Dataset& data, dist::Group& group = dist::alone());

void save_info(const RunFiles& files, const DataInfo& info);

/// Config, vocabulary, labels and the untrained model of a run directory.
LoadedRun load_untrained(const std::filesystem::path& run);

/// The run's model with its best weights, in evaluation mode.
LoadedRun load(const std::filesystem::path& run);

}  // namespace heed
