#include "report/parts_json.hpp"

#include "heed/models/task_model.hpp"

namespace heed {
namespace {

nlohmann::ordered_json part_json(const PartInfo& part) {
  return {{"group", name(part.group)}, {"id", part.id},       {"title", part.title},
          {"formula", part.formula},   {"paper", part.paper}, {"advice", part.advice}};
}

}  // namespace

nlohmann::ordered_json parts_json(const Config& config) {
  const AttentionSpec& a = config.attention;
  const PartInfo& mechanism = registry().find(Group::mechanism, a.mechanism.id);
  auto parts = nlohmann::ordered_json::array({part_json(mechanism)});
  if (mechanism.id != "mean-pool" && mechanism.id != "no-attention") {
    parts.push_back(part_json(registry().find(Group::score, a.score.id)));
    parts.push_back(part_json(registry().find(Group::align, a.align.id)));
  }
  parts.push_back(part_json(registry().find(Group::feature, config.feature.model.id)));
  return parts;
}

}  // namespace heed
