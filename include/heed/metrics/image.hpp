#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "heed/metrics/metric.hpp"

namespace heed::metrics {

/// Eight bits a channel, rows from the top, channels interleaved: `pixels` holds
/// height × width × channels values.
struct Image {
  std::size_t width = 0, height = 0, channels = 1;
  std::vector<std::uint8_t> pixels = {};
};

/// A PNG. A palette becomes RGB, `grey` asks for one channel.
/// InputError for anything unreadable and for 16 bits a channel: the metrics assume the range 255.
Image read_image(const std::filesystem::path& path, bool grey = false);

/// The bytes of a PNG file. InputError when the image has no pixel, or other than 1 to 4 channels.
std::string to_png(const Image& image);

/// Peak signal-to-noise ratio in dB, 10 log10(255² / mean squared error), averaged over the pairs.
/// Equal images give +∞. Without a pair, 0. Detail: `mse`, averaged too.
Metric psnr(std::span<const Image> a, std::span<const Image> b);

/// Uniform: a 7 × 7 window and sample covariance, scikit-image's default. Gaussian: σ = 1.5 cut
/// at 11 × 11 and population covariance, as in the paper.
enum class SsimWindow { uniform, gaussian };

/// Structural similarity (Wang et al. 2004), K1 = 0.01, K2 = 0.03, range 255: the mean over all
/// places where the window lies inside, over channels, and over the pairs. At most 1. InputError
/// when an image is smaller than the window. Without a pair, 0.
Metric ssim(std::span<const Image> a, std::span<const Image> b,
            SsimWindow window = SsimWindow::uniform);

/// Intersection over union of two one-channel masks, averaged over the pairs; a pixel over 127 is
/// inside. Two empty masks agree: 1. Details: `pooled`, of all pixels together, and `dice`.
Metric iou(std::span<const Image> predicted, std::span<const Image> gold);

}  // namespace heed::metrics
