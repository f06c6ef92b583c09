#include <climits>
#include <memory>
#include <string_view>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/metrics/image.hpp"

// stb_image is a header that carries its own code; only PNG is compiled in, and no file access.
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#include <stb/stb_image.h>

namespace heed::metrics {
namespace {

/// Whether a chunk says that it is longer than the file: stb would make room for it first. Files
/// without a PNG's signature are left to stb.
bool ends_within_a_chunk(std::string_view bytes) {
  constexpr std::string_view kSignature = "\x89PNG\r\n\x1A\n";
  constexpr std::size_t kAround = 12;  // a chunk's length, type and check sum
  if (!bytes.starts_with(kSignature)) return false;
  for (bytes.remove_prefix(kSignature.size()); bytes.size() >= kAround;) {
    std::size_t length = 0;
    for (const char c : bytes.substr(0, 4)) length = length << 8 | static_cast<unsigned char>(c);
    if (bytes.substr(4, 4) == "IEND") return false;
    if (length > bytes.size() - kAround) return true;
    bytes.remove_prefix(length + kAround);
  }
  return true;
}

}  // namespace

Image read_image(const std::filesystem::path& path, bool grey) {
  const std::string bytes = read_file(path);
  HEED_CHECK(!bytes.empty(), "{}: is empty, a PNG is needed", path.string());
  HEED_CHECK(bytes.size() <= INT_MAX, "{}: is too large for an image", path.string());
  HEED_CHECK(!ends_within_a_chunk(bytes),
             "{}: cannot be read as a PNG: it ends within a chunk; it is cut or damaged",
             path.string());
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  int width = 0, height = 0, channels = 0;
  const bool known = stbi_info_from_memory(data, size, &width, &height, &channels) != 0;
  HEED_CHECK(known, "{}: cannot be read as a PNG: {}", path.string(), stbi_failure_reason());
  HEED_CHECK(!stbi_is_16_bit_from_memory(data, size),
             "{}: has 16 bits a channel, 8 are needed; convert it first", path.string());
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(data, size, &width, &height, &channels, grey ? 1 : 0), stbi_image_free);
  HEED_CHECK(pixels, "{}: cannot be read as a PNG: {}", path.string(), stbi_failure_reason());
  Image image{.width = static_cast<std::size_t>(width),
              .height = static_cast<std::size_t>(height),
              .channels = grey ? 1 : static_cast<std::size_t>(channels)};
  image.pixels.assign(pixels.get(), pixels.get() + image.width * image.height * image.channels);
  return image;
}

}  // namespace heed::metrics
