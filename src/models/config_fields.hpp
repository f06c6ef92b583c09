#pragma once
#include <variant>
#include <vector>

#include "heed/models/config.hpp"

namespace heed {

/// A part that a key names, and the group its id is from.
struct PartField {
  PartSpec* spec;
  Group group;
};

/// One key of the config: where it is, where its value goes, what it may be. Parsing, writing and
/// the schema all read this one table.
struct Field {
  std::string section;
  std::string name;
  std::variant<std::string*, std::int64_t*, double*, bool*, PartField> value;
  std::string doc;
  double min = 0;
  double max = 1e9;
  std::vector<std::string> choices = {};
};

std::vector<Field> config_fields(Config& config);

}  // namespace heed
