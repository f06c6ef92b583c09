#pragma once
#include <functional>

#include "heed/base/random.hpp"
#include "heed/data/dataset.hpp"

namespace heed {

/// A corpus of examples drawn one by one, no two alike. The test part is drawn first, so that it
/// stays the same when only the size of the training part changes.
Dataset generate(std::string name, std::vector<std::string> labels, std::vector<InputInfo> inputs,
                 const CorpusOptions& options, const std::function<Example(Random&)>& draw);

}  // namespace heed
