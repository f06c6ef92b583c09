#include "heed/base/memory.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "heed/base/error.hpp"

namespace heed {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

/// The bytes of a line "NAME: 123 kB" of a file of Linux; kUnknown without such a line.
std::uint64_t kilobytes_in(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name))
      return std::strtoull(line.c_str() + name.size(), nullptr, 10) * 1024;
  }
  return kUnknown;
}

/// What Linux has free, with what can be reclaimed.
std::uint64_t machine_memory() { return kilobytes_in("/proc/meminfo", "MemAvailable:"); }

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

/// What `ulimit -v` leaves.
std::uint64_t process_memory() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknown;
  const std::uint64_t used = kilobytes_in("/proc/self/status", "VmSize:");
  return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

}  // namespace

std::uint64_t available_memory() {
  if (const char* given = std::getenv("HEED_MEMORY")) return std::strtoull(given, nullptr, 10);
  return std::min({machine_memory(), group_memory(), process_memory()});
}

std::uint64_t peak_memory() {
  const std::uint64_t peak = kilobytes_in("/proc/self/status", "VmHWM:");
  return peak == kUnknown ? 0 : peak;
}

void give_back_memory() { malloc_trim(0); }

void check_room(double bytes, const char* who, const std::function<std::string()>& sizes,
                const std::string& cure) {
  constexpr double kSmall = 64.0 * 1024 * 1024;  // not worth a look at the machine
  if (bytes < kSmall) return;
  const auto room = static_cast<double>(available_memory());
  HEED_CHECK(bytes <= room, "{}: {} need {}, and {} are free; {}", who, sizes(), memory_text(bytes),
             memory_text(room), cure);
}

std::string memory_text(double bytes) {
  constexpr double kMebi = 1024.0 * 1024.0;
  return bytes < 1024 * kMebi ? fmt::format("{:.1f} MiB", bytes / kMebi)
                              : fmt::format("{:.1f} GiB", bytes / kMebi / 1024);
}

}  // namespace heed
