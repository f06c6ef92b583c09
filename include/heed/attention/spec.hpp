#pragma once
#include "heed/attention/part.hpp"

namespace heed {

/// The `[attention]` table of a config: which parts, in which wiring.
struct AttentionSpec {
  PartSpec mechanism = "singular";
  PartSpec score = "additive";
  PartSpec align = "soft";
  PartSpec queries = "singular";
  PartSpec dimensionality = "single";
  PartSpec position = "none";
  double dropout = 0;
};

}  // namespace heed
