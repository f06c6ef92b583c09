#pragma once
// What the fuzz targets share: how an input is cut into files, and what may become of them.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "heed/base/error.hpp"

namespace heed::fuzz {

/// Ends the program, as a crash would, unless what must hold of every input does.
inline void require(bool holds, std::string_view what) {
  if (holds) return;
  fmt::print(stderr, "fuzz: does not hold: {}\n", what);
  std::abort();
}

/// Runs `read`; a wrong input may only be told by an InputError. True if it was right.
template <class Read>
bool accepted(const Read& read) {
  try {
    read();
    return true;
  } catch (const InputError& error) {
    require(!std::string_view(error.what()).empty(), "an error says what is wrong");
    return false;
  }
}

/// A first byte that chooses among readers, then files with a line of "=====" between them.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);  // NOLINT
    if (!rest.empty()) {
      first_ = static_cast<std::uint8_t>(rest[0] - 'a');  // letters count from 0
      rest.remove_prefix(1);
    }
    for (;;) {
      const std::size_t cut = rest.find(kCut);
      files_.push_back(rest.substr(0, cut));
      if (cut == std::string_view::npos) return;
      rest.remove_prefix(cut + kCut.size());
    }
  }

  /// One of 0 … n − 1, by the first byte.
  std::size_t choose(std::size_t n) const { return first_ % n; }
  /// The i-th file; empty when there are fewer.
  std::string_view file(std::size_t i) const {
    return i < files_.size() ? files_[i] : std::string_view();
  }

 private:
  static constexpr std::string_view kCut = "\n=====\n";

  std::uint8_t first_ = 0;
  std::vector<std::string_view> files_;
};

/// A folder for readers that take paths; in memory where the system has such a place.
class Folder {
 public:
  Folder() {
    const std::filesystem::path memory = "/dev/shm";
    path_ = (std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path()) /
            fmt::format("heed-fuzz-{}", getpid());
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// The one folder of this process.
inline const Folder& folder() {
  static const Folder one;
  return one;
}

}  // namespace heed::fuzz

/// What libFuzzer, or replay.cpp, calls with every input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
