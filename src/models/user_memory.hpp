#pragma once
#include "heed/attention/tensor.hpp"
#include "heed/data/batches.hpp"
#include "heed/models/config.hpp"

namespace heed {

/// What similar users of the training part took: attention whose keys are users. Nothing is
/// trained.
class UserMemory {
 public:
  /// Of output 'memory' with these options.
  UserMemory(std::shared_ptr<const UserVectors> users, const Options& options);

  /// What the memory adds to the logits [B, items].
  Tensor logits(const Batch& batch) const;

 private:
  std::shared_ptr<const UserVectors> users_;
  Tensor rarely_;  // [items] what an item is given where no similar user took it
  double weight_, sharpness_;
};

}  // namespace heed
