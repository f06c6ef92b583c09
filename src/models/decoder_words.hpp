#pragma once
#include <torch/nn/module.h>

#include <cmath>

#include "heed/attention/tensor.hpp"
#include "models/word_loss.hpp"

namespace heed {

/// The words of a decoder: vectors to read them by, and scores of them; with `tied` from one table
/// (Press & Wolf 2017).
class WordsImpl : public torch::nn::Module {
 public:
  WordsImpl(std::int64_t words, std::int64_t dim, bool tied) : dim_(dim) {
    const double size = 1 / std::sqrt(static_cast<double>(dim));
    read_ = register_parameter("read", torch::randn({words, dim}).mul_(size));
    write_ = tied ? read_ : register_parameter("write", torch::randn({words, dim}).mul_(size));
    bias_ = register_parameter("bias", torch::zeros({words}));
  }

  /// Of length about √dim, as the paper has them.
  Tensor vectors(const Tensor& ids) const {
    return torch::embedding(read_, ids) * std::sqrt(static_cast<double>(dim_));
  }
  Tensor logits(const Tensor& states) const { return torch::linear(states, write_, bias_); }
  Tensor losses(const Tensor& states, const Tensor& right, double smoothing) const {
    return word_loss(states, write_, bias_, right, smoothing);
  }

 private:
  std::int64_t dim_;
  Tensor read_, write_, bias_;
};
TORCH_MODULE(Words);

}  // namespace heed
