#pragma once
#include <torch/nn/module.h>

#include "heed/attention/registry.hpp"
#include "heed/attention/tensor.hpp"
#include "heed/data/batches.hpp"

namespace heed {

/// What a feature model is made for.
struct FeatureProblem {
  std::int64_t vocabulary = 0;  // rows of the embedding, specials included
  std::int64_t embedding = 0;   // width of the word vectors
  std::int64_t dim = 0;         // width of the features
  std::int64_t layers = 1;
  double dropout = 0;
  Options options;
};

/// Word numbers to features: the keys and values of attention.
class FeatureModel : public torch::nn::Module {
 public:
  /// [B, L] ids → [B, L, output_dim()]; positions past an entry's length hold anything finite.
  virtual Tensor forward(const Padded& words) = 0;
  virtual std::int64_t output_dim() const = 0;
};

std::vector<PartInfo> feature_models();

}  // namespace heed
