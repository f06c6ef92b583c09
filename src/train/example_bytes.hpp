#pragma once
#include <span>
#include <string>
#include <vector>

#include "heed/data/example.hpp"

namespace heed {

/// Examples as bytes, for other ranks of the same heed: no file format.
std::string to_bytes(std::span<const Example> examples);

/// Their inverse, all bits alike.
std::vector<Example> examples_from(const std::string& bytes);

}  // namespace heed
