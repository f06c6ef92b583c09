#pragma once
#include "heed/attention/registry.hpp"

namespace heed::testing {

/// A registry of names alone: grids need no torch.
inline const Registry& names() {
  static const Registry registry([] {
    std::vector<PartInfo> parts;
    const auto add = [&](Group group, std::initializer_list<const char*> ids) {
      for (const char* id : ids)
        parts.push_back(
            {.id = id, .group = group, .title = id, .formula = "", .paper = "", .advice = ""});
    };
    add(Group::feature, {"bigru", "cnn"});
    add(Group::query, {"basic", "specialised"});
    add(Group::mechanism, {"singular", "mean-pool", "no-attention", "gate", "pointer"});
    add(Group::score, {"dot", "additive", "general"});
    add(Group::align, {"soft", "hard", "entmax"});
    add(Group::queries, {"singular", "multi-head"});
    add(Group::dimensionality, {"single", "multi"});
    add(Group::position, {"none"});
    add(Group::output, {"softmax"});
    add(Group::vectors, {"trained"});
    for (PartInfo& part : parts) {
      if (part.id == "gate") part.scored = false;
      if (part.id == "mean-pool" || part.id == "no-attention") {
        part.scored = false;
        part.suits = {"baseline"};
      }
      if (part.id == "pointer") part.status = Status::planned;
      if (part.id == "additive") part.options = {{.name = "hidden", .fallback = false, .doc = ""}};
      if (part.id == "entmax") part.options = {{.name = "alpha", .fallback = 1.5, .doc = "α"}};
    }
    return parts;
  }());
  return registry;
}

}  // namespace heed::testing
