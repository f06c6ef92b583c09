#include "heed/base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/descriptor.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

void write_all(int fd, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_on(path, "write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd >= 0) ::close(fd);
}

void fail_on(const fs::path& path, const char* action) {
  const int error = errno;
  throw InputError(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(error)));
}

Descriptor open_to_read(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) fail_on(path, "open");
  return file;
}

std::int64_t size_of(const Descriptor& file, const fs::path& path) {
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) fail_on(path, "read");
  HEED_CHECK(!S_ISDIR(info.st_mode), "{}: is a folder, a file is needed", path.string());
  return info.st_size;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::status(path, error).type() != fs::file_type::not_found;
}

std::string read_file(const fs::path& path) {
  const Descriptor file = open_to_read(path);
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(size_of(file, path)));
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_on(path, "read");
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
}

void write_file(const fs::path& path, std::string_view bytes) {
  const fs::path temporary = path.string() + ".tmp";
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.fd < 0) fail_on(path, "write");
  try {
    write_all(file.fd, bytes, path);
    if (::fsync(file.fd) != 0) fail_on(path, "write");
    // Some file systems tell only now that the bytes did not arrive.
    if (::close(std::exchange(file.fd, -1)) != 0) fail_on(path, "write");
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail_on(path, "replace");
  } catch (...) {
    ::unlink(temporary.c_str());  // a full disk must not keep the half-written copy
    throw;
  }
  // The rename itself must survive a power cut; folders that cannot be synced are no error.
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.fd >= 0) ::fsync(directory.fd);
}

void make_writable_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  HEED_CHECK(!error, "{}: cannot make this folder: {}", path.string(), error.message());
  HEED_CHECK(fs::is_directory(path), "{}: is a file, a folder is needed", path.string());
  const fs::path probe = path / ".heed-probe";
  Descriptor file(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (file.fd < 0) fail_on(path, "write in this folder");
  ::unlink(probe.c_str());
}

}  // namespace heed
