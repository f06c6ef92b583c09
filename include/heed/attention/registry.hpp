#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/attention/part.hpp"

namespace heed {

std::string_view name(Group group);
std::string_view title(Group group);
/// Part of the survey's taxonomy, as opposed to a name only configs use.
bool in_taxonomy(Group group);

/// A list of parts, looked up by id. The tables are explicit (`parts.cpp` of each layer): linkers
/// drop self-registering objects from static libraries.
class Registry {
 public:
  explicit Registry(std::vector<PartInfo> parts);
  /// The parts of a lower layer and those of this one.
  Registry(const Registry& below, std::vector<PartInfo> parts);

  std::span<const PartInfo> parts() const { return parts_; }

  /// The part with this id in the group; an unknown id is an InputError with the nearest one.
  const PartInfo& find(Group group, std::string_view id) const;

  /// By `id`, or `group/id` where the id stands in two groups. The taxonomy wins over config names.
  const PartInfo& find(std::string_view name) const;

  std::vector<std::string> ids(Group group) const;

  /// `find`, and an InputError if the part is only planned.
  const PartInfo& find_built(Group group, std::string_view id) const;

 private:
  std::vector<PartInfo> parts_;
};

/// Scores, alignments, dimensionality, queries and positions.
const Registry& attention_parts();

/// The spec's options over the defaults: unknown names, wrong types and values out of range are
/// InputErrors that start with `where`.
Options resolve(const PartInfo& part, const Options& given, std::string_view where);

template <class T>
const T& get(const Options& options, const std::string& name) {
  return std::get<T>(options.at(name));
}

/// The value as a config writes it.
std::string to_text(const OptionValue& value);

}  // namespace heed
