#pragma once
#include "heed/mechanisms/mechanism.hpp"
#include "heed/models/config.hpp"
#include "heed/models/feature.hpp"

namespace heed {

/// Turns a batch into the named features that attention sees: vectors of each input, views cut out
/// of them, the feature model on each (sentence by sentence, where an input has sentences), and,
/// where the config says so, one vector a sentence.
class EncoderImpl : public torch::nn::Module {
 public:
  /// `names`: the inputs somebody will look at; the others are not computed.
  EncoderImpl(const Config& config, const DataInfo& info, std::vector<std::string> names);

  /// Vectors given in the trace as "vectors/NAME" are used in place of the input's own.
  Inputs forward(const Batch& batch, Trace& trace);
  Inputs forward(const Batch& batch) {
    Trace nobody;
    return forward(batch, nobody);
  }
  /// The vectors of one input, [B, L, D], as the feature model is given them.
  Input vectors(const Batch& batch, const std::string& name);
  /// The width of every input it gives.
  std::int64_t output_dim() const { return dim_; }

 private:
  FeatureModel& feature_of(const std::string& name);

  std::vector<std::string> names_;
  std::map<std::string, std::shared_ptr<VectorModel>> numbers_;  // inputs of numbers
  std::shared_ptr<VectorModel> words_;                           // all inputs of words share them
  std::map<std::string, std::shared_ptr<FeatureModel>> features_;
  std::shared_ptr<FeatureModel> shared_;
  std::string pool_;
  bool across_;
  Tensor ages_;  // [time, dim] a vector for the last sentence, the one before …
  double dropout_, time_noise_;
  bool half_;  // train its matrix products in bfloat16; what it gives is float32
  std::int64_t dim_ = 0;
};
TORCH_MODULE(Encoder);

/// The inputs of the data as a mechanism is told of them, all of one width. With `pooled` the
/// finest level is gone: a sentence is a position.
std::vector<MechanismProblem::NamedWidth> named_widths(const DataInfo& info, std::int64_t dim,
                                                       bool pooled);

}  // namespace heed
