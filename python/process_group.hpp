#pragma once
#include <string>

#include "heed/dist/group.hpp"

namespace heed {

/// The processes of a group of torch.distributed, by the name torch knows it by; lives as long as
/// the process.
dist::Group& process_group(const std::string& name);

}  // namespace heed
