#include "models/user_memory.hpp"

#include "heed/attention/attend.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

constexpr double kFloor = 0.01;  // of the weight goes to items by how often they were taken

}  // namespace

UserMemory::UserMemory(std::shared_ptr<const UserVectors> users, const Options& options)
    : users_(std::move(users)),
      weight_(get<double>(options, "weight")),
      sharpness_(get<double>(options, "sharpness")) {
  HEED_CHECK(users_, "output 'memory': this run has no vectors of users");
  // One more than there were: an item that nobody took has a logarithm too.
  const Tensor counts = users_->offsets.diff().to(torch::kFloat32) + 1;
  rarely_ = counts * (kFloor / counts.sum());
}

Tensor UserMemory::logits(const Batch& batch) const {
  Tensor asking = torch::zeros({batch.size(), users_->items.size(1)});
  for (const auto& [name, input] : batch.inputs) {
    if (input.ids.defined()) asking += torch::embedding(users_->items, input.ids).sum(1);
  }
  const Tensor keys = users_->users.unsqueeze(0);
  // [users, B]: what each user of the training part is worth to each of the batch.
  const Tensor weights =
      attend(asking.unsqueeze(0), keys, keys.narrow(2, 0, 1),
             {.score = "similarity", .scale = sharpness_, .want = {.weights = true}})
          .weights.squeeze(0)
          .t()
          .contiguous();
  const Tensor taken = std::get<0>(torch::embedding_bag(weights, users_->takers, users_->offsets,
                                                        false, /*mode=*/0, false, users_->shares,
                                                        /*include_last_offset=*/true));
  return (taken + rarely_.unsqueeze(1)).log().mul(weight_).t();
}

}  // namespace heed
