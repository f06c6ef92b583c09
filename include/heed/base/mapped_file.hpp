#pragma once
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace heed {

/// A file as memory: a page is read when it is first touched. What is written to it stays in this
/// process. InputError names the path and the reason when it cannot be read. It must not be cut
/// short by others meanwhile; what replaces it under its name does no harm.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() const { return data_; }  ///< Null when the file is empty.
  std::string_view bytes() const { return {data_, size_}; }

  /// Gives back the memory of the pages read so far; they are read again when they are touched.
  /// Nothing may have been written to them.
  void rest() const;

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace heed
