#pragma once
#include <span>
#include <string>

#include "heed/attention/trace.hpp"
#include "heed/data/batches.hpp"
#include "heed/models/config.hpp"

namespace heed {

/// How far recorded weights are from the gold attention of the batch's examples, by
/// `train.supervise_loss`: the mean over maps that look at an input with gold attention, or over
/// the one map and head that the config names.
///
/// Where the target asks and the examples have links, each word of the target is held against the
/// words it is linked with, and words without links do not count. Else the mean over queries is
/// held against Example::gold, over the examples that have any. Undefined when nothing can be
/// compared.
Tensor attention_loss(const Trace& trace, const Batch& batch, std::span<const Example> examples,
                      const Config::Train& train);

/// True if an example says where to look.
bool has_gold(const Example& example);

}  // namespace heed
