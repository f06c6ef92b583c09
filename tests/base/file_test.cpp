#include "heed/base/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "heed/base/error.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct FileTest : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("heed-file-test-" + std::to_string(getpid()));
  FileTest() { fs::create_directories(folder); }
  ~FileTest() override { fs::remove_all(folder); }

  std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(FileTest, WritesReplacesAndLeavesNoTemporary) {
  const fs::path file = folder / "a";
  write_file(file, "one");
  write_file(file, std::string("t\0wo", 4));
  EXPECT_EQ(read_file(file), std::string("t\0wo", 4));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(FileTest, NamesThePathAndTheReason) {
  EXPECT_THAT(error_of([&] { read_file(folder / "none"); }),
              HasSubstr("none: cannot open: No such file"));
  EXPECT_THAT(error_of([&] { read_file(folder); }), HasSubstr("is a folder"));
  EXPECT_THAT(error_of([&] { write_file(folder / "no" / "file", "x"); }),
              HasSubstr("cannot write"));
  EXPECT_THAT(error_of([&] { write_file("/dev/full/x", "x"); }), HasSubstr("cannot write"));
}

TEST_F(FileTest, WhatCannotBeLookedAtIsThereAndOpeningItSaysWhy) {
  EXPECT_FALSE(is_there(folder / "none"));
  EXPECT_TRUE(is_there(folder));
  fs::create_symlink("loop", folder / "loop");
  EXPECT_TRUE(is_there(folder / "loop"));
  EXPECT_THAT(error_of([&] { read_file(folder / "loop"); }), HasSubstr("symbolic links"));
}

TEST_F(FileTest, AFullDiskKeepsTheOldFile) {
  // /dev/full accepts an open and refuses every write, as a full disk does.
  const fs::path file = folder / "kept";
  write_file(file, "old");
  fs::create_symlink("/dev/full", folder / "kept.tmp");
  EXPECT_THAT(error_of([&] { write_file(file, "new"); }), HasSubstr("No space left"));
  EXPECT_EQ(read_file(file), "old");
  EXPECT_FALSE(fs::is_symlink(folder / "kept.tmp"));
}

TEST_F(FileTest, AFileIsNoFolder) {
  write_file(folder / "f", "x");
  EXPECT_NE(error_of([&] { make_writable_folder(folder / "f"); }), "no error");
  EXPECT_NE(error_of([&] { make_writable_folder(folder / "f" / "g"); }), "no error");
  make_writable_folder(folder / "new" / "deep");
  EXPECT_TRUE(fs::is_empty(folder / "new" / "deep"));
}

}  // namespace
}  // namespace heed
