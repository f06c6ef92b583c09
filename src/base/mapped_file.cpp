#include "heed/base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/descriptor.hpp"

namespace heed {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file = open_to_read(path);
  size_ = static_cast<std::size_t>(size_of(file, path));
  if (size_ == 0) return;
  void* at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.fd, 0);
  if (at == MAP_FAILED) fail_on(path, "read");
  data_ = static_cast<char*>(at);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void MappedFile::rest() const {
  if (data_ != nullptr) ::madvise(data_, size_, MADV_DONTNEED);
}

}  // namespace heed
