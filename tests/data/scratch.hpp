#pragma once
// A folder of its own for a test, and the message a wrong input gives.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "heed/base/error.hpp"

namespace heed::testing {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heed-data-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch folder");
    folder_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

  std::string write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::remove(
        path);  // truncating a file instead makes ext4 flush it, thousands of times here
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }

 private:
  std::filesystem::path folder_;
};

/// The message of the InputError that `action` throws; a test failure when it throws none, or when
/// the message is not one line.
template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << "not one line: " << message;
    return message;
  }
  ADD_FAILURE() << "no InputError";
  return "";
}

/// Each of `parts` occurs in `text`.
inline void expect_parts(const std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
  }
}

}  // namespace heed::testing
