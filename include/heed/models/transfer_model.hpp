#pragma once
#include "heed/models/label_model.hpp"

namespace heed {

/// Labels of one domain, texts of another: attention of two kinds on the same features. What shared
/// attention finds must not tell the domains apart, by gradient reversal (Ganin et al. 2016); what
/// the domains' own attention finds must. Both choose the label. Examples without a label are of
/// the other domain.
class TransferModel : public LabelModel {
 public:
  TransferModel(const Config& config, const DataInfo& info);

  Tensor losses(const Batch& batch, Trace& trace) override;
  Tensor logits(const Inputs& features, Trace& trace) override;

 private:
  struct Found {
    Tensor shared, own;  // [B, D] each
  };
  Found find(const Inputs& features, Trace& trace);
  Tensor chosen(const Found& found);

  std::shared_ptr<Mechanism> own_;
  torch::nn::Linear own_output_{nullptr}, shared_domain_{nullptr}, own_domain_{nullptr};
  double reversal_, dropout_;
};

}  // namespace heed
