#pragma once
#include "heed/attention/part.hpp"

namespace heed {

/// Mechanisms whose place in the taxonomy is known and which are not built yet.
std::vector<PartInfo> planned_mechanisms();

/// One module of the mechanism a class: `queries = "capsule"`.
std::shared_ptr<Mechanism> make_capsules(const MakeMechanism& make,
                                         const MechanismProblem& problem);

}  // namespace heed
