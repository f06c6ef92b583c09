#pragma once
#include "heed/models/config.hpp"

namespace heed {

/// The config with every path to data made absolute: what is read again from anywhere must not
/// depend on the config's folder or the working folder.
Config with_absolute_paths(Config config);

}  // namespace heed
