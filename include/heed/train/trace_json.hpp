#pragma once
#include <nlohmann/json_fwd.hpp>

#include "heed/models/task_model.hpp"

namespace heed {

/// How weights are written. Six decimals are more than any picture shows, and large maps are packed
/// into bytes; with all digits of every one they can be given back and be the same.
enum class Digits { six, all };

/// What `to_json_line` writes: {id, inputs, maps, gold, prediction}; see viewer/README.md.
nlohmann::ordered_json trace_json(const LoadedRun& run, const Example& example,
                                  const Prediction& prediction, Digits digits);

}  // namespace heed
