#pragma once
#include <cstdint>
#include <filesystem>
#include <utility>

namespace heed {

/// An open file, closed at the end of its life.
struct Descriptor {
  int fd = -1;

  explicit Descriptor(int open) : fd(open) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
};

/// InputError "PATH: cannot ACTION: " and what errno says.
[[noreturn]] void fail_on(const std::filesystem::path& path, const char* action);

Descriptor open_to_read(const std::filesystem::path& path);

/// Bytes of the file; InputError if it is a folder.
std::int64_t size_of(const Descriptor& file, const std::filesystem::path& path);

}  // namespace heed
