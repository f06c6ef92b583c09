#include "heed/attention/registry.hpp"

#include <algorithm>
#include <array>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

struct GroupInfo {
  std::string_view name, title;
  bool taxonomy;
};

constexpr std::array kGroups = {
    GroupInfo{"score", "Score: how a query meets a key", true},
    GroupInfo{"align", "Align: scores to weights", true},
    GroupInfo{"dimensionality", "Dimensionality: one weight a key, or one a feature", true},
    GroupInfo{"query", "Query: what asks", true},
    GroupInfo{"queries", "Queries: how many ask", true},
    GroupInfo{"mechanism", "Mechanism: how attention modules are wired", true},
    GroupInfo{"position", "Position: how order enters", true},
    GroupInfo{"feature", "Feature models: what turns input into keys and values", false},
    GroupInfo{"output", "Output models: what turns a context into an answer", false},
    GroupInfo{"vectors", "Vectors: what turns words or numbers into vectors", false},
};

const GroupInfo& info(Group group) { return kGroups[static_cast<std::size_t>(group)]; }

}  // namespace

std::string_view name(Group group) { return info(group).name; }
std::string_view title(Group group) { return info(group).title; }
bool in_taxonomy(Group group) { return info(group).taxonomy; }

Registry::Registry(std::vector<PartInfo> parts) : parts_(std::move(parts)) {
  std::stable_sort(parts_.begin(), parts_.end(),
                   [](const PartInfo& a, const PartInfo& b) { return a.group < b.group; });
}

Registry::Registry(const Registry& below, std::vector<PartInfo> parts)
    : Registry([&] {
        parts.insert(parts.begin(), below.parts_.begin(), below.parts_.end());
        return std::move(parts);
      }()) {}

std::vector<std::string> Registry::ids(Group group) const {
  std::vector<std::string> result;
  for (const PartInfo& part : parts_) {
    if (part.group == group) result.push_back(part.id);
  }
  return result;
}

const PartInfo& Registry::find(Group group, std::string_view id) const {
  for (const PartInfo& part : parts_) {
    if (part.group == group && part.id == id) return part;
  }
  throw InputError(
      fmt::format("unknown {} '{}'{}", heed::name(group), id, suggestion(id, ids(group))));
}

const PartInfo& Registry::find(std::string_view wanted) const {
  std::vector<std::string> known;
  std::vector<const PartInfo*> found;
  for (const PartInfo& part : parts_) {
    const std::string full = fmt::format("{}/{}", heed::name(part.group), part.id);
    if (full == wanted) return part;
    if (part.id == wanted) found.push_back(&part);
    known.push_back(part.id);
    if (wanted.find('/') != std::string_view::npos) known.push_back(full);
  }
  const auto taxonomy = std::partition(
      found.begin(), found.end(), [](const PartInfo* part) { return in_taxonomy(part->group); });
  if (taxonomy != found.begin()) found.erase(taxonomy, found.end());
  HEED_CHECK(!found.empty(), "unknown id '{}'{}", wanted, suggestion(wanted, known));
  if (found.size() > 1) {
    std::vector<std::string> choices;
    for (const PartInfo* part : found)
      choices.push_back(fmt::format("{}/{}", heed::name(part->group), part->id));
    throw InputError(
        fmt::format("'{}' stands in more than one group; say {}", wanted, join(choices, " or ")));
  }
  return *found.front();
}

const PartInfo& Registry::find_built(Group group, std::string_view id) const {
  const PartInfo& part = find(group, id);
  if (part.status == Status::built) return part;
  std::vector<std::string> built;
  for (const PartInfo& other : parts_) {
    if (other.group == group && other.status == Status::built) built.push_back(other.id);
  }
  throw InputError(fmt::format("{} '{}' is planned, not built yet; built today: {}",
                               heed::name(group), id, join(built, ", ")));
}

}  // namespace heed
