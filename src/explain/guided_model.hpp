#pragma once
#include <functional>

#include "heed/explain/subject.hpp"

namespace heed::explain {

/// Tells which weights a model must use for a batch: one tensor a map it was shown.
using Guide = std::function<std::vector<Tensor>(const Batch& batch, const std::vector<TraceMap>&)>;

/// A model that never uses its own attention weights, while it trains and after. What it saves is
/// a model like any other.
class GuidedModel : public LabelModel {
 public:
  GuidedModel(const Config& config, const DataInfo& info, Guide guide)
      : LabelModel(config, info), guide_(std::move(guide)) {}

  Tensor forward(const Batch& batch, Trace& trace) override;

 private:
  Guide guide_;
};

/// Every key that a row may look at has the same weight.
std::vector<Tensor> uniform_weights(const Subject& base, const Batch& batch,
                                    const std::vector<TraceMap>& maps);

/// The weights that another model gives to the same examples.
std::vector<Tensor> weights_of(const Subject& base, const Batch& batch,
                               const std::vector<TraceMap>& maps);

/// A model that learns to answer as another does with weights as far from it as can be: TV of the
/// outputs less λ times the KL divergence of the weights (Wiegreffe & Pinter 2019, section 4).
class AdversaryModel : public LabelModel {
 public:
  AdversaryModel(const Config& config, const DataInfo& info, const Subject& base, double lambda)
      : LabelModel(config, info), base_(base), lambda_(lambda) {}

  Tensor losses(const Batch& batch, Trace& trace) override;
  Reply answer(const Batch& batch, Trace& trace) override;

 private:
  Tensor compare(const Batch& batch);  // [B]

  const Subject& base_;
  double lambda_;
};

}  // namespace heed::explain
