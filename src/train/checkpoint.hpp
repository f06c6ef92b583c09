#pragma once
#include <optional>

#include "heed/models/task_model.hpp"
#include "heed/train/trainer.hpp"
#include "train/optimiser.hpp"

namespace heed {

/// Where a training stands, beside weights and optimiser. Batches and dropout come from (seed,
/// epoch, step, rank), so there is no generator state to keep.
struct Progress {
  std::int64_t epoch = 1;  // the running one
  std::size_t step = 0;    // steps done in it
  double loss_sum = 0;     // of those steps, weighted by examples
  std::size_t loss_count = 0;
  double epoch_seconds = 0;  // spent in the running epoch before this process
  std::vector<EpochRecord> epochs;
  std::int64_t best_epoch = 0;
  bool finished = false;
  int ranks = 1;  // that took the latest steps
};

/// As text, with the digits that read back to the same bits.
std::string to_text(const Progress& progress);
Progress progress_from(const std::string& text);

/// One file, replaced in one step: a kill leaves the old state or the new one.
void save_checkpoint(const RunFiles& files, const torch::nn::Module& model,
                     const torch::nn::Module& reinforce, const Optimiser& optimiser,
                     const Progress& progress);

/// Restores model, baselines and optimiser; nothing when the run has no checkpoint yet.
std::optional<Progress> load_checkpoint(const RunFiles& files, torch::nn::Module& model,
                                        torch::nn::Module& reinforce, Optimiser& optimiser);

/// metrics.jsonl: a line an epoch, then one for the test part.
void save_metrics(const RunFiles& files, const std::vector<EpochRecord>& epochs,
                  const std::string& last_line = "");

}  // namespace heed
