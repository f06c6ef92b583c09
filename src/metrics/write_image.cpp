#include "heed/base/error.hpp"
#include "heed/metrics/image.hpp"

// stb_image_write is a header that carries its own code; no file access is compiled in.
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>

namespace heed::metrics {

std::string to_png(const Image& image) {
  HEED_CHECK(image.channels >= 1 && image.channels <= 4 && image.width > 0 && image.height > 0 &&
                 image.pixels.size() == image.width * image.height * image.channels,
             "image: {} pixels for {}×{} of {} channels; a PNG has 1 to 4 channels",
             image.pixels.size(), image.width, image.height, image.channels);
  std::string bytes;
  const auto append = [](void* to, void* data, int size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data),
                                          static_cast<std::size_t>(size));
  };
  const int width = static_cast<int>(image.width), channels = static_cast<int>(image.channels);
  const int written = stbi_write_png_to_func(append, &bytes, width, static_cast<int>(image.height),
                                             channels, image.pixels.data(), width * channels);
  HEED_CHECK(written != 0, "image: {}×{} cannot be written as a PNG", image.width, image.height);
  return bytes;
}

}  // namespace heed::metrics
