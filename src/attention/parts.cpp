#include "attention/parts.hpp"

#include <fmt/format.h>

#include "heed/attention/registry.hpp"

namespace heed {

#define HEED_PART(name) PartInfo name();
#include "attention/registry.inc"
#undef HEED_PART

Reasons same_width(const Problem& p) {
  if (p.query_dim == p.key_dim) return {};
  return {fmt::format("query width {} differs from key width {}; 'general' takes both", p.query_dim,
                      p.key_dim)};
}

const Registry& attention_parts() {
  static const Registry parts = [] {
    std::vector<PartInfo> table = {
#define HEED_PART(name) name(),
#include "attention/registry.inc"
#undef HEED_PART
    };
    for (PartInfo& part : switches()) table.push_back(std::move(part));
    return Registry(std::move(table));
  }();
  return parts;
}

}  // namespace heed
