#pragma once
#include <string>

#include "heed/attention/tensor.hpp"

namespace heed {

/// One vector for each run of the finest level: the mean of its positions, or the sum weighed by
/// position (Sukhbaatar et al. 2015). The level above becomes the finest. An input without levels
/// is one run.
Input pool_sentences(const Input& x, const std::string& how);

}  // namespace heed
