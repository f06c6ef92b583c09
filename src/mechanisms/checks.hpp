#pragma once
#include "heed/mechanisms/mechanism.hpp"

namespace heed {

/// InputError unless alignment and dimensionality are the default, for mechanisms that have no use
/// for one; `why` says whose the weights are.
void check_no_align(const MechanismProblem& problem, const std::string& why);

/// Heads of `queries`: singular has one, multi-head its option; they must divide `dim`. InputError
/// for any other multiplicity.
std::int64_t head_count(const MechanismProblem& problem, std::int64_t dim);

}  // namespace heed
