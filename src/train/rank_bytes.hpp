#pragma once
#include <span>
#include <string>
#include <vector>

#include "heed/models/task_model.hpp"

namespace heed {

/// Predictions and examples as bytes, for other ranks of the same heed: no file format.
std::string to_bytes(std::span<const Prediction> predictions);
std::string to_bytes(std::span<const Example> examples);

/// Their inverses, all bits alike.
std::vector<Prediction> predictions_from(const std::string& bytes);
std::vector<Example> examples_from(const std::string& bytes);

}  // namespace heed
