#pragma once
#include "heed/kernels/attention.hpp"

namespace heed::kernels {

/// Throws std::invalid_argument, naming the field and its value, for a problem that has no meaning.
void check_problem(const AttentionProblem& problem);

/// The same for multi-dimensional attention.
void check_multi(const AttentionProblem& problem);

/// The same for the chosen rows of a weights call.
void check_rows(const AttentionProblem& problem, const WeightsResult& result);

}  // namespace heed::kernels
