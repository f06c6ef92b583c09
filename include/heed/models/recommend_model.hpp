#pragma once
#include "heed/models/label_model.hpp"

namespace heed {

class UserMemory;

/// The next item of a user: attention over histories, a score for every item, a softmax over all,
/// in training over the right item and a sample of the others where the config says so.
/// Answers rank the candidates of an example and give the ten best, by the softmax alone or, with
/// output 'memory', also by what similar users took.
class RecommendModel : public TaskModel {
 public:
  RecommendModel(const Config& config, const DataInfo& info);

  Tensor losses(const Batch& batch, Trace& trace) override;
  Reply answer(const Batch& batch, Trace& trace) override;
  const Mechanism& attention() const override { return *wiring_; }

 private:
  std::shared_ptr<LabelModel> model_;
  std::shared_ptr<const UserMemory> memory_;  // none: the softmax alone
  std::shared_ptr<const Mechanism> wiring_;
  std::vector<std::string> items_;
  std::int64_t sampled_;
};

}  // namespace heed
