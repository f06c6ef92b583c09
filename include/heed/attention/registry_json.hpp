#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "heed/attention/part.hpp"

namespace heed {

/// {id, group, family, title, formula, paper, inputs, time, memory, advice, options, fused,
/// status}.
nlohmann::ordered_json to_json(const PartInfo& part);

/// A part as JSON names it: "additive", or {"id": "additive", "act": "relu"}. InputError, starting
/// with `where`, for anything else.
PartSpec spec_from_json(const nlohmann::ordered_json& json, std::string_view where);

}  // namespace heed
