#pragma once
#include <nlohmann/json.hpp>

#include "heed/data/batches.hpp"

namespace heed {

/// What an example is beside words, for pictures of it: adds to a line of traces.jsonl, which has
/// its inputs already. viewer/README.md documents the fields; a plain text has none.
void add_shapes(nlohmann::ordered_json& line, const DataInfo& info, const Example& example);

}  // namespace heed
