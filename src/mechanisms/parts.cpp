#include "mechanisms/parts.hpp"

#include "heed/mechanisms/mechanism.hpp"

namespace heed {

#define HEED_PART(name) PartInfo name();
#include "mechanisms/registry.inc"
#undef HEED_PART

const Registry& mechanism_parts() {
  static const Registry parts = [] {
    std::vector<PartInfo> table = {
#define HEED_PART(name) name(),
#include "mechanisms/registry.inc"
#undef HEED_PART
    };
    return Registry(attention_parts(), std::move(table));
  }();
  return parts;
}

}  // namespace heed
