#pragma once
#include "heed/models/label_model.hpp"

namespace heed {

/// Tasks that answer with a number: one logit, squared loss.
class NumberModel : public TaskModel {
 public:
  NumberModel(const Config& config, const DataInfo& info);

  Tensor losses(const Batch& batch, Trace& trace) override;
  Reply answer(const Batch& batch, Trace& trace) override;
  const Mechanism& attention() const override { return model_->attention(); }

 private:
  Tensor forward(const Batch& batch, Trace& trace);  // [B]

  std::shared_ptr<LabelModel> model_;
};

}  // namespace heed
