#include "heed/base/mapped_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

class MappedFileTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  fs::path path_ = fs::temp_directory_path() / ("heed-mapped-" + std::to_string(::getpid()));
};

/// Bytes of this process that are in memory.
std::size_t resident() {
  std::size_t all = 0, here = 0;
  std::ifstream("/proc/self/statm") >> all >> here;
  return here * 4096;
}

TEST_F(MappedFileTest, HasTheFilesBytesAndKeepsWhatIsWrittenToItself) {
  write_file(path_, "abc");
  const MappedFile file(path_);
  EXPECT_EQ(file.bytes(), "abc");
  file.data()[0] = 'x';
  EXPECT_EQ(file.bytes(), "xbc");
  EXPECT_EQ(read_file(path_), "abc");
}

TEST_F(MappedFileTest, StaysWhatItWasWhenTheFileIsReplaced) {
  write_file(path_, "abc");
  const MappedFile file(path_);
  write_file(path_, "other");
  EXPECT_EQ(file.bytes(), "abc");
}

TEST_F(MappedFileTest, GivesBackMemoryAndReadsAgain) {
  const std::string bytes(32 << 20, 'y');
  write_file(path_, bytes);
  const MappedFile file(path_);
  EXPECT_TRUE(file.bytes() == bytes);
  const std::size_t before = resident();
  file.rest();
  EXPECT_LT(resident() + (24 << 20), before);
  EXPECT_TRUE(file.bytes() == bytes);
}

TEST_F(MappedFileTest, AnEmptyFileIsEmptyAndAMissingOneAnError) {
  write_file(path_, "");
  EXPECT_TRUE(MappedFile(path_).bytes().empty());
  fs::remove(path_);
  EXPECT_THROW(MappedFile{path_}, InputError);
  EXPECT_THROW(MappedFile{fs::temp_directory_path()}, InputError);
}

}  // namespace
}  // namespace heed
