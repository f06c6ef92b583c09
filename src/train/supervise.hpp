#pragma once
#include <string>

#include "heed/attention/trace.hpp"
#include "heed/data/batches.hpp"

namespace heed {

/// How far recorded weights are from the gold attention of the batch: the mean over examples that
/// have any, and over the maps that look at an input with gold attention. `loss` is cross-entropy,
/// kl or squared. Undefined when nothing can be compared.
Tensor attention_loss(const Trace& trace, const Batch& batch, const std::string& loss);

}  // namespace heed
