#pragma once
#include <functional>
#include <string>

#include "heed/attention/tensor.hpp"

namespace heed {

/// One vector for each run of the finest level: the mean of its positions, or the sum weighed by
/// position (Sukhbaatar et al. 2015). The level above becomes the finest. An input without levels
/// is one run.
Input pool_sentences(const Input& x, const std::string& how);

/// Runs `encode` on each run of the finest level as an entry of its own, [T, M, D] → [T, M, D'],
/// and puts the results back where the runs were. An input without levels is one run.
Tensor encode_sentences(const Input& x, const std::function<Tensor(const Input&)>& encode);

}  // namespace heed
