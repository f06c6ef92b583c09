#pragma once
#include <string_view>

namespace heed {

/// `text`, or nothing (which is no JSON) when its arrays and objects are nested deeper than any of
/// ours: libraries copy and write them by recursion, which ends with the stack.
std::string_view shallow_json(std::string_view text);

}  // namespace heed
