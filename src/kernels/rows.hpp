#pragma once
#include <vector>

#include "heed/kernels/attention.hpp"
#include "kernels/geometry.hpp"

namespace heed::kernels {

/// The forward pass of every alignment that needs a whole row of scores.
void rows_forward(const AttentionProblem& problem, const ForwardResult& result,
                  const std::vector<Entry>& entries, const std::vector<QueryBlock>& blocks);

}  // namespace heed::kernels
