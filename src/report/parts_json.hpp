#pragma once
#include <nlohmann/json.hpp>

#include "heed/models/config.hpp"

namespace heed {

/// What a run's attention is made of, to be read by people: an array of {group, id, title, formula,
/// paper, advice}, the mechanism first.
nlohmann::ordered_json parts_json(const Config& config);

}  // namespace heed
