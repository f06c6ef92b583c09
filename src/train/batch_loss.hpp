#pragma once
#include <utility>
#include <vector>

#include "heed/attention/reinforce.hpp"
#include "heed/dist/group.hpp"
#include "heed/models/task_model.hpp"
#include "train/example_share.hpp"

namespace heed {

/// The loss of a batch that the ranks of a group share: each takes its part, and the gradients of
/// all add up to those of one process with the whole batch.
class BatchLoss {
 public:
  using Indices = std::vector<std::size_t>;

  /// Looks at `run` and `examples` when it learns; they must outlive it.
  BatchLoss(const LoadedRun& run, const ExampleShare& examples, dist::Group& group)
      : run_(run), examples_(examples), group_(group) {}

  /// Adds this rank's gradients of what a piece of a batch, which may be all of it, has in the
  /// batch's loss, divided by `parts`, to those of the model. Returns the sum of the task's losses
  /// over the piece, at every rank.
  double learn(const Indices& piece, const Indices& batch, double parts);

  /// What random choices are held against; part of a checkpoint.
  torch::nn::Module& baseline() { return *reinforce_; }

 private:
  std::pair<Tensor, double> loss_of(const Indices& own, const Indices& piece, const Indices& batch);
  Tensor supervision(const Trace& trace, const Batch& part, const Indices& piece);
  double answers_each(const Indices& indices) const;
  std::vector<std::int64_t> count_over_ranks(const std::vector<std::int64_t>& own);

  const LoadedRun& run_;
  const ExampleShare& examples_;
  dist::Group& group_;
  Reinforce reinforce_;
};

}  // namespace heed
