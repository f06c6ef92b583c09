#include "models/feature_cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

constexpr std::uint32_t kMagic = 0x31464348;  // "HCF1"
constexpr std::uint32_t kLongestText = 1 << 26, kMostPositions = 1 << 24;

struct RecordHeader {
  std::uint32_t magic, text_bytes, positions, checksum;
};

[[noreturn]] void cache_error(const std::filesystem::path& file, const char* action) {
  const int error = errno;
  throw InputError(fmt::format("{}: cannot {}: {}; choose another 'cache', or \"none\"",
                               file.string(), action, std::strerror(error)));
}

/// True when all of it could be read.
bool read_at(int descriptor, void* to, std::size_t bytes, std::int64_t offset) {
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor, out, bytes, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got, offset += got, bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_at(int descriptor, std::string_view bytes, std::int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
    offset += put;
  }
  return true;
}

std::uint32_t record_checksum(std::string_view text, std::string_view vectors) {
  return static_cast<std::uint32_t>(content_hash(text) ^ std::rotl(content_hash(vectors), 1));
}

/// Nobody else appends while it lives.
struct FileLock {
  int descriptor;
  explicit FileLock(int fd) : descriptor(fd) {
    while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) continue;
  }
  ~FileLock() { ::flock(descriptor, LOCK_UN); }
};

std::string_view bytes_of(const Tensor& features) {
  return {static_cast<const char*>(features.const_data_ptr()), features.nbytes()};
}

}  // namespace

FeatureCache::FeatureCache(const std::filesystem::path& file, std::int64_t width)
    : file_(file), width_(width) {
  if (file.empty()) return;
  make_writable_folder(file.parent_path());
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) cache_error(file_, "open");
  look();
}

FeatureCache::~FeatureCache() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t FeatureCache::vector_bytes(std::uint32_t positions) const {
  return static_cast<std::size_t>(positions) * static_cast<std::size_t>(width_) * sizeof(float);
}

/// Reads where the records are that it has not seen yet.
void FeatureCache::look() {
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) cache_error(file_, "read");
  RecordHeader header{};
  std::string text;
  while (read_at(descriptor_, &header, sizeof header, end_)) {
    if (header.magic != kMagic || header.text_bytes > kLongestText ||
        header.positions > kMostPositions) {
      return;
    }
    const std::int64_t at = end_ + static_cast<std::int64_t>(sizeof header);
    const auto size = static_cast<std::int64_t>(header.text_bytes + vector_bytes(header.positions));
    if (at + size > info.st_size) return;
    text.resize(header.text_bytes);
    if (!read_at(descriptor_, text.data(), text.size(), at)) return;
    places_[text] = {.offset = at, .positions = header.positions, .checksum = header.checksum};
    end_ = at + size;
  }
}

Tensor FeatureCache::find(const std::string& text) {
  if (descriptor_ < 0) {
    const auto kept = memory_.find(text);
    return kept == memory_.end() ? Tensor() : kept->second;
  }
  const auto found = places_.find(text);
  if (found == places_.end()) return {};
  const Place place = found->second;
  Tensor features = torch::empty({place.positions, width_}, torch::kFloat32);
  const bool whole = read_at(descriptor_, features.data_ptr(), features.nbytes(),
                             place.offset + static_cast<std::int64_t>(text.size()));
  if (whole && record_checksum(text, bytes_of(features)) == place.checksum) return features;
  places_.erase(found);
  return {};
}

void FeatureCache::add(const std::vector<Entry>& entries) {
  if (entries.empty()) return;
  if (descriptor_ < 0) {
    for (const Entry& entry : entries) memory_[entry.text] = entry.features;
    return;
  }
  std::string bytes;
  for (const Entry& entry : entries) {
    const Tensor features = entry.features.contiguous();
    const RecordHeader header{.magic = kMagic,
                              .text_bytes = static_cast<std::uint32_t>(entry.text.size()),
                              .positions = static_cast<std::uint32_t>(features.size(0)),
                              .checksum = record_checksum(entry.text, bytes_of(features))};
    bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
    bytes.append(entry.text).append(bytes_of(features));
  }
  const FileLock lock(descriptor_);
  look();
  if (::ftruncate(descriptor_, end_) != 0 || !write_at(descriptor_, bytes, end_)) {
    cache_error(file_, "write");
  }
  look();
}

std::uint64_t content_hash(std::string_view bytes) {
  std::uint64_t hash = bytes.size();
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t count = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), count);
    hash = Random::derive(hash, word + 1);
    bytes.remove_prefix(count);
  }
  return Random(hash).next();
}

std::filesystem::path cache_folder() {
  const char* base = std::getenv("XDG_CACHE_HOME");
  if (base != nullptr && *base != '\0') return std::filesystem::path(base) / "heed";
  const char* home = std::getenv("HOME");
  HEED_CHECK(home != nullptr && *home != '\0',
             "vectors 'pretrained': no $HOME to keep a cache in; set 'cache' to a folder or to "
             "\"none\"");
  return std::filesystem::path(home) / ".cache" / "heed";
}

}  // namespace heed
