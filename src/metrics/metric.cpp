#include "heed/metrics/metric.hpp"

#include <fmt/format.h>

namespace heed::metrics {

std::string_view version() { return HEED_VERSION; }

std::string signature(std::string_view name, Parameters parameters) {
  std::string text(name);
  for (const auto& [key, value] : parameters) {
    std::string clean = value;
    for (char& c : clean) {
      if (c == '|' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '_';
    }
    text += fmt::format("|{}:{}", key, clean);
  }
  return text + fmt::format("|v:{}", version());
}

}  // namespace heed::metrics
