#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "heed/models/task_model.hpp"

namespace heed {

/// The survey's way to characterise a model: each attention module with its features, its query and
/// its general parts, what feeds what, sizes, parameters and cost.
nlohmann::ordered_json describe(const Config& config, TaskModel& model);

/// The same of a mechanism alone, with inputs of one width.
nlohmann::ordered_json describe(const PartSpec& mechanism, std::int64_t width = 64);

/// What a mechanism is made for when nothing but a width is known: the inputs its entry names.
MechanismProblem plain_problem(const AttentionSpec& parts, const PartInfo& info,
                               std::int64_t width);

/// A description as a table to read.
std::string to_table(const nlohmann::ordered_json& description);

/// The wiring as a picture: inputs on the left, the context on the right; what is asked with is
/// dashed, what is attended to is solid.
std::string to_svg(const nlohmann::ordered_json& description);

}  // namespace heed
