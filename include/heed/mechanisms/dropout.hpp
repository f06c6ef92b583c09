#pragma once
#include "heed/attention/tensor.hpp"

namespace heed {

/// torch::dropout, with a generator that costs a tenth of torch's: features are dropped in every
/// layer of a model, and drawing by the Mersenne twister takes a seventh of a small Transformer's
/// time. What is dropped depends on the next number of torch's generator alone, at any thread
/// count. p is kept to 1/65536.
Tensor drop_features(const Tensor& x, double p, bool training);

}  // namespace heed
