#pragma once
#include <functional>

#include "heed/base/random.hpp"
#include "heed/data/dataset.hpp"

namespace heed {

/// A generated corpus: `make` gives one example after another, each part from a stream of its own.
/// Test comes first, so that it stays the same when only the size of the training part changes.
Dataset corpus_of(const std::string& name, std::vector<InputInfo> inputs,
                  const CorpusOptions& options, const std::function<Example(Random&)>& make);

}  // namespace heed
