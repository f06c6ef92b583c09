#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "heed/attention/trace.hpp"
#include "heed/data/batches.hpp"
#include "heed/models/config.hpp"

namespace heed {

/// Numbers of rows that count, of this process's part of a batch → of the whole batch.
using CountAll = std::function<std::vector<std::int64_t>(std::vector<std::int64_t>)>;

/// How far recorded weights are from the gold attention of the batch's examples, by
/// `train.supervise_loss`: the mean over maps that look at an input with gold attention, or over
/// the one map and head that the config names.
///
/// Where the target asks and the examples have links, each word of the target is held against the
/// words it is linked with, and words without links do not count. Else the mean over queries is
/// held against Example::gold, over the examples that have any. Undefined when nothing can be
/// compared.
///
/// Where the batch is a part of a larger one, `count_all` makes it this part's share of the mean
/// over all: it is called once, with a number for each map of the trace, −1 where there is nothing
/// to compare.
Tensor attention_loss(const Trace& trace, const Batch& batch, std::span<const Example> examples,
                      const Config::Train& train, const CountAll& count_all = std::identity());

/// True if an example says where to look.
bool has_gold(const Example& example);

}  // namespace heed
