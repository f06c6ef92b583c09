#include "train/trace_pictures.hpp"

#include <algorithm>
#include <cmath>

#include "heed/base/base64.hpp"
#include "heed/metrics/image.hpp"

namespace heed {
namespace {

constexpr std::size_t kMostPixels = 200;  // a side

/// Where the numbers of a picture are: positions in rows, each with a patch of pixels.
struct PixelLayout {
  std::size_t frames = 1, rows = 0, columns = 0, patch = 1, channels = 1;

  PixelLayout(const std::vector<std::int64_t>& grid, std::int64_t width) {
    if (grid.size() == 3) frames = static_cast<std::size_t>(grid[0]);
    rows = static_cast<std::size_t>(grid[grid.size() - 2]);
    columns = static_cast<std::size_t>(grid.back());
    channels = static_cast<std::size_t>(width);
    if (width <= 4) return;
    patch = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(width))));
    channels = patch * patch == channels ? 1 : 0;
  }

  std::size_t size() const { return frames * rows * columns * patch * patch * channels; }
  std::size_t place(std::size_t frame, std::size_t y, std::size_t x, std::size_t channel) const {
    const std::size_t cell = (frame * rows + y / patch) * columns + x / patch;
    return ((cell * patch + y % patch) * patch + x % patch) * channels + channel;
  }
};

/// One frame; `shrink` × `shrink` pixels become their mean.
metrics::Image image_of(const PixelLayout& layout, const Values& values, std::size_t frame,
                        std::size_t shrink) {
  metrics::Image image{.width = layout.columns * layout.patch / shrink,
                       .height = layout.rows * layout.patch / shrink,
                       .channels = layout.channels};
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < image.width; ++x) {
      for (std::size_t c = 0; c < image.channels; ++c) {
        float sum = 0;
        for (std::size_t i = 0; i < shrink * shrink; ++i)
          sum +=
              values.data[layout.place(frame, y * shrink + i / shrink, x * shrink + i % shrink, c)];
        const float mean = sum / static_cast<float>(shrink * shrink);
        image.pixels.push_back(
            static_cast<std::uint8_t>(std::lround(255 * std::clamp(mean, 0.0f, 1.0f))));
      }
    }
  }
  return image;
}

}  // namespace

std::vector<std::string> picture_urls(const std::vector<std::int64_t>& grid, const Values& values) {
  const PixelLayout layout(grid, values.width);
  if (layout.size() == 0 || layout.size() != values.data.size()) return {};
  const std::size_t side = std::max(layout.rows, layout.columns) * layout.patch;
  const std::size_t shrink = (side + kMostPixels - 1) / kMostPixels;
  if (std::min(layout.rows, layout.columns) * layout.patch < shrink) return {};
  std::vector<std::string> urls;
  for (std::size_t frame = 0; frame < layout.frames; ++frame)
    urls.push_back("data:image/png;base64," +
                   base64(metrics::to_png(image_of(layout, values, frame, shrink))));
  return urls;
}

}  // namespace heed
