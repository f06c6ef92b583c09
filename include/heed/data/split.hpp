#pragma once
#include <string>
#include <vector>

#include "heed/data/dataset.hpp"

namespace heed {

/// One part of the data, "train", "val" or "test". InputError, in which `asked` says who wants it,
/// when there is none.
std::vector<Example> load_split(const DataSource& source, const std::string& split,
                                const std::string& asked);

}  // namespace heed
