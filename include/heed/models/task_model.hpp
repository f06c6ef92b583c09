#pragma once
#include <torch/nn/modules/linear.h>

#include <filesystem>
#include <memory>

#include "heed/data/batches.hpp"
#include "heed/mechanisms/mechanism.hpp"
#include "heed/models/config.hpp"
#include "heed/models/feature.hpp"

namespace heed {

/// Every part there is: of attention, mechanisms and models.
const Registry& registry();

/// The survey's task model: feature model, query model, attention, output model.
class TaskModel : public torch::nn::Module {
 public:
  TaskModel(const Config& config, std::int64_t vocabulary, std::int64_t labels);

  /// Logits [B, labels]. The batch needs the input "text", and the one that asks where the query is
  /// specialised. Weights given in the trace for a module
  /// this model does not have are an InputError.
  Tensor forward(const Batch& batch, Trace& trace);

  std::int64_t parameter_count() const;
  const Mechanism& attention() const { return *attention_; }

 private:
  std::shared_ptr<FeatureModel> feature_;
  std::shared_ptr<Mechanism> attention_;
  Tensor query_;  // undefined: the mechanism asks with nothing, or another input asks
  std::optional<Options> specialised_;
  torch::nn::Linear output_{nullptr};
};

/// A trained model and what it needs to read text.
struct LoadedRun {
  Config config;
  Vocabulary vocabulary;
  std::vector<std::string> labels;
  std::shared_ptr<TaskModel> model;
};

/// The names of the files in a run directory.
struct RunFiles {
  std::filesystem::path folder;
  std::filesystem::path config() const { return folder / "config.toml"; }
  std::filesystem::path vocabulary() const { return folder / "vocabulary.json"; }
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

void save_vocabulary(const RunFiles& files, const Vocabulary& vocabulary,
                     const std::vector<std::string>& labels);

/// Config, vocabulary, labels and the untrained model of a run directory.
LoadedRun load_untrained(const std::filesystem::path& run);

/// The run's model with its best weights, in evaluation mode.
LoadedRun load(const std::filesystem::path& run);

}  // namespace heed
