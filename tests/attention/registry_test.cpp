// The taxonomy is whole: every id of the design, and what each entry says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heed/base/words.hpp"
#include "heed/mechanisms/mechanism.hpp"

namespace heed {
namespace {

const std::map<Group, std::string> kDesign = {
    {Group::score,
     "dot scaled-dot general biased-general activated-general low-rank-bilinear additive "
     "similarity location"},
    {Group::align,
     "soft sparsemax entmax15 entmax sigmoid stick-breaking top-k hard local-m local-p reinforced"},
    {Group::dimensionality, "single multi"},
    {Group::query, "basic specialised self"},
    {Group::queries, "singular multi-head multi-hop capsule"},
    {Group::mechanism,
     "singular co.alternating co.interactive co.parallel rotatory via-attention hierarchical "
     "meta-embedding "
     "focus saliency.max-pool saliency.gate saliency.winner-take-all "
     "pointer structured.chain structured.binomial structured.tree self-attention transformer gat "
     "gatv2 het-gat linear "
     "mean-pool no-attention"},
    {Group::position, "none sinusoidal learned rope alibi relative"},
};

TEST(Registry, HoldsEveryIdOfTheDesign) {
  for (const auto& [group, ids] : kDesign) {
    EXPECT_THAT(mechanism_parts().ids(group), testing::IsSupersetOf(split_words(ids)))
        << name(group);
  }
}

TEST(Registry, NoIdStandsTwiceInAGroup) {
  std::set<std::string> seen;
  for (const PartInfo& part : mechanism_parts().parts()) {
    EXPECT_TRUE(seen.insert(std::string(name(part.group)) + "/" + part.id).second) << part.id;
  }
}

TEST(Registry, EveryEntryExplainsItself) {
  for (const PartInfo& part : mechanism_parts().parts()) {
    EXPECT_FALSE(part.title.empty()) << part.id;
    EXPECT_FALSE(part.formula.empty()) << part.id;
    EXPECT_FALSE(part.paper.empty()) << part.id;
    EXPECT_FALSE(part.advice.empty()) << part.id;
  }
}

TEST(Registry, WhatIsBuiltCanBeMadeAndWhatIsPlannedCannot) {
  for (const PartInfo& part : mechanism_parts().parts()) {
    const bool has_factory =
        part.group == Group::score || part.group == Group::align || part.group == Group::mechanism;
    const bool makes = !std::holds_alternative<std::monostate>(part.make);
    if (!has_factory) continue;
    EXPECT_EQ(makes, part.status == Status::built) << part.id;
  }
}

TEST(Registry, NothingIsLeftToBuild) {
  for (const PartInfo& part : mechanism_parts().parts())
    EXPECT_EQ(part.status, Status::built) << part.id;
}

}  // namespace
}  // namespace heed
