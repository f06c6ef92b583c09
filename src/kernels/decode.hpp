#pragma once
#include <vector>

#include "heed/kernels/attention.hpp"
#include "kernels/geometry.hpp"

namespace heed::kernels {

/// The entries of the problem for which is_decode() holds; others are left alone.
void decode_forward(const AttentionProblem& problem, const ForwardResult& result,
                    const std::vector<Entry>& entries);

}  // namespace heed::kernels
