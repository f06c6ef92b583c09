#pragma once
#include "heed/models/label_model.hpp"

namespace heed {

/// The next item of a user: attention over histories, a score for every item, a softmax over all,
/// in training over the right item and a sample of the others where the config says so.
/// Answers rank the candidates of an example and give the ten best.
class RecommendModel : public TaskModel {
 public:
  RecommendModel(const Config& config, const DataInfo& info);

  Tensor losses(const Batch& batch, Trace& trace) override;
  Reply answer(const Batch& batch, Trace& trace) override;
  const Mechanism& attention() const override { return model_->attention(); }

 private:
  std::shared_ptr<LabelModel> model_;
  std::vector<std::string> items_;
  std::int64_t sampled_;
};

}  // namespace heed
