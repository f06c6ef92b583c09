#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "heed/models/config.hpp"

namespace heed::ablate {

/// One `--over`: a key of the config and the values it takes in turn.
struct Axis {
  std::string key;                  ///< in full, as `attention.score`
  std::vector<std::string> values;  ///< as `heed train --set` reads them
  bool all = false;                 ///< every value there is: some may not fit
};

/// Reads `key=a,b,c` or `key=all`. The parts of [attention] may be named without it: `score=all`.
/// Commas inside braces, brackets and quotes separate nothing. InputError for an unknown key, with
/// the nearest one, and for `all` where the values cannot be listed.
Axis parse_axis(std::string_view text, const Registry& registry);

/// `key=value,key=value` as changes, keys in full.
std::vector<std::string> parse_changes(std::string_view text);

/// A change as people read it: `score=dot` for `attention.score=dot`.
std::string short_change(const std::string& change);

}  // namespace heed::ablate
