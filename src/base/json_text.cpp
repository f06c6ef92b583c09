#include "heed/base/json_text.hpp"

#include <cstddef>

namespace heed {

std::string_view shallow_json(std::string_view text) {
  constexpr std::size_t kDeepest = 200;
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return {};
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return text;
}

}  // namespace heed
