#pragma once
#include <torch/nn/module.h>

#include <span>
#include <string>
#include <vector>

#include "heed/attention/registry.hpp"
#include "heed/attention/tensor.hpp"
#include "heed/data/batches.hpp"

namespace heed {

struct Config;

/// What turns one input of the data into vectors is made for.
struct VectorsProblem {
  const Config& config;
  const DataInfo& info;
  InputInfo input;       // an input of numbers has its width here
  std::int64_t dim = 0;  // width asked for; a model with a width of its own ignores it
  Options options;
};

/// The first step of a model: words or numbers to vectors, [B, L, output_dim()]. It sees an input
/// whole, in its context, before views are cut out of it. The length may change (an image's pixels
/// become patches); positions past an entry's length hold anything finite.
class VectorModel : public torch::nn::Module {
 public:
  /// The words of an entry's partner, see below.
  using Partners = std::span<const std::vector<std::string>>;

  virtual Input forward(const Padded& input) = 0;
  /// The input whose words each text is read together with; empty: each is read alone.
  virtual std::string partner() const { return ""; }
  /// Of a model with a partner: the same, with the partner's words of each entry.
  virtual Input forward(const Padded& input, Partners /*partners*/) { return forward(input); }
  virtual std::int64_t output_dim() const = 0;
};

/// What a feature model is made for.
struct FeatureProblem {
  std::int64_t input = 0;  // width of the vectors
  std::int64_t dim = 0;    // width of the features
  std::int64_t layers = 1;
  double dropout = 0;
  Options options;
};

/// Vectors to features: the keys and values of attention. [B, L, input] → [B, L, output_dim()];
/// positions past an entry's length hold anything finite.
class FeatureModel : public torch::nn::Module {
 public:
  virtual Tensor forward(const Input& vectors) = 0;
  virtual std::int64_t output_dim() const = 0;
};

std::vector<PartInfo> vector_models();
std::vector<PartInfo> feature_models();

}  // namespace heed
