#include "heed/base/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>

namespace heed {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

/// MemAvailable of Linux, which counts what can be reclaimed.
std::uint64_t machine_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  for (std::uint64_t kilobytes = 0; file >> name >> kilobytes; file.ignore(64, '\n')) {
    if (name == "MemAvailable:") return kilobytes * 1024;
  }
  return kUnknown;
}

std::uint64_t number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? number : kUnknown;  // "max" is no number
}

std::uint64_t group_memory() {
  const std::uint64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit == kUnknown || used == kUnknown) return kUnknown;
  return limit > used ? limit - used : 0;
}

}  // namespace

std::uint64_t available_memory() {
  if (const char* given = std::getenv("HEED_MEMORY")) return std::strtoull(given, nullptr, 10);
  return std::min(machine_memory(), group_memory());
}

std::string memory_text(double bytes) {
  constexpr double kMebi = 1024.0 * 1024.0;
  return bytes < 1024 * kMebi ? fmt::format("{:.1f} MiB", bytes / kMebi)
                              : fmt::format("{:.1f} GiB", bytes / kMebi / 1024);
}

}  // namespace heed
