#pragma once
#include <span>
#include <string>

#include "heed/models/task_model.hpp"

namespace heed {

/// Predictions as bytes, for other ranks of the same heed: no file format.
std::string to_bytes(std::span<const Prediction> predictions);

/// Their inverse, all bits alike.
std::vector<Prediction> predictions_from(const std::string& bytes);

}  // namespace heed
