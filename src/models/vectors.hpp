#pragma once
#include <filesystem>

#include "heed/models/feature.hpp"

namespace heed {

/// The parts of the group `vectors` that rest on files, each in a file of its own.
PartInfo file_vectors();
PartInfo pretrained_vectors();

/// The option `path`, looked for beside the config, then in the working folder.
std::filesystem::path vectors_path(const VectorsProblem& problem);

}  // namespace heed
