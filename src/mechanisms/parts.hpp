#pragma once
#include "heed/attention/part.hpp"

namespace heed {

/// One module of the mechanism a class: `queries = "capsule"`.
std::shared_ptr<Mechanism> make_capsules(const MakeMechanism& make,
                                         const MechanismProblem& problem);

}  // namespace heed
