#include "heed/metrics/image.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/random.hpp"

namespace heed::metrics {
namespace {

Image noise(std::size_t width, std::size_t height, std::size_t channels, std::uint64_t seed) {
  Random random(seed);
  Image image{.width = width, .height = height, .channels = channels};
  for (std::size_t i = 0; i < width * height * channels; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  return image;
}

Image flat(std::size_t side, std::uint8_t value) {
  return {.width = side, .height = side, .pixels = std::vector<std::uint8_t>(side * side, value)};
}

template <class Function>
double on(Function function, const Image& a, const Image& b) {
  return function(std::span(&a, 1), std::span(&b, 1)).value;
}

TEST(Psnr, IsTheFormula) {
  const Image a = flat(4, 100), b = flat(4, 110);
  EXPECT_NEAR(on(psnr, a, b), 10 * std::log10(255.0 * 255 / 100), 1e-12);
  EXPECT_EQ(on(psnr, a, a), std::numeric_limits<double>::infinity());
  EXPECT_EQ(on(psnr, flat(4, 0), flat(4, 255)), 0);
}

// The definition, one window at a time, with two passes for the variances.
double plain_ssim(const Image& a, const Image& b, const std::vector<std::vector<double>>& window,
                  double unbias) {
  const std::size_t n = window.size();
  double sum = 0;
  std::size_t places = 0;
  for (std::size_t c = 0; c < a.channels; ++c) {
    const auto at = [&](const Image& image, std::size_t y, std::size_t x) {
      return static_cast<double>(image.pixels[(y * image.width + x) * image.channels + c]);
    };
    for (std::size_t top = 0; top + n <= a.height; ++top) {
      for (std::size_t left = 0; left + n <= a.width; ++left) {
        double mx = 0, my = 0, vx = 0, vy = 0, vxy = 0;
        for (std::size_t i = 0; i < n * n; ++i) {
          mx += window[i / n][i % n] * at(a, top + i / n, left + i % n);
          my += window[i / n][i % n] * at(b, top + i / n, left + i % n);
        }
        for (std::size_t i = 0; i < n * n; ++i) {
          const double dx = at(a, top + i / n, left + i % n) - mx;
          const double dy = at(b, top + i / n, left + i % n) - my;
          vx += unbias * window[i / n][i % n] * dx * dx;
          vy += unbias * window[i / n][i % n] * dy * dy;
          vxy += unbias * window[i / n][i % n] * dx * dy;
        }
        sum += (2 * mx * my + 6.5025) * (2 * vxy + 58.5225) /
               ((mx * mx + my * my + 6.5025) * (vx + vy + 58.5225));
        ++places;
      }
    }
  }
  return sum / static_cast<double>(places);
}

TEST(Ssim, EqualsTheDefinitionWindowByWindow) {
  const std::vector<std::vector<double>> uniform(7, std::vector<double>(7, 1.0 / 49));
  std::vector<std::vector<double>> gaussian(11, std::vector<double>(11));
  double total = 0;
  for (int y = -5; y <= 5; ++y) {
    for (int x = -5; x <= 5; ++x)
      total += gaussian[y + 5][x + 5] = std::exp(-(x * x + y * y) / 4.5);
  }
  for (auto& row : gaussian) {
    for (double& weight : row) weight /= total;
  }
  for (const std::size_t channels : {1, 3}) {
    const Image a = noise(13, 17, channels, 1), b = noise(13, 17, channels, 2);
    EXPECT_NEAR(on([](auto x, auto y) { return ssim(x, y); }, a, b),
                plain_ssim(a, b, uniform, 49.0 / 48), 1e-10);
    EXPECT_NEAR(on([](auto x, auto y) { return ssim(x, y, SsimWindow::gaussian); }, a, b),
                plain_ssim(a, b, gaussian, 1), 1e-10);
  }
}

TEST(Ssim, IsOneForEqualImagesAndNeedsAWholeWindow) {
  const Image a = noise(9, 9, 1, 4);
  const auto uniform = [](auto x, auto y) { return ssim(x, y); };
  EXPECT_NEAR(on(uniform, a, a), 1, 1e-12);
  EXPECT_NEAR(on(uniform, flat(7, 0), flat(7, 0)), 1, 1e-12);
  EXPECT_THROW(on(uniform, flat(6, 0), flat(6, 0)), InputError);
  EXPECT_THROW(on([](auto x, auto y) { return ssim(x, y, SsimWindow::gaussian); }, a, a),
               InputError);
}

TEST(Iou, CountsPixelsOver127) {
  const Image a{.width = 4, .height = 1, .pixels = {128, 255, 127, 0}};
  const Image b{.width = 4, .height = 1, .pixels = {0, 200, 200, 0}};
  EXPECT_DOUBLE_EQ(on(iou, a, b), 1.0 / 3);
  EXPECT_EQ(on(iou, flat(3, 127), flat(3, 0)), 1);  // both empty
  EXPECT_EQ(on(iou, flat(3, 128), flat(3, 0)), 0);
}

TEST(Images, AreAveragedOverPairs) {
  const std::vector<Image> a = {flat(2, 0), flat(2, 0)}, b = {flat(2, 255), flat(2, 0)};
  const auto metric = iou(a, b);
  EXPECT_DOUBLE_EQ(metric.value, 0.5);
  EXPECT_DOUBLE_EQ(metric.details.at("pooled"), 0);
  EXPECT_EQ(psnr({}, {}).value, 0);
}

TEST(Images, MustHaveTheSameSize) {
  EXPECT_THROW(on(psnr, flat(3, 0), flat(4, 0)), InputError);
  EXPECT_THROW(on(psnr, noise(3, 3, 1, 1), noise(3, 3, 3, 1)), InputError);
  EXPECT_THROW(on(iou, noise(3, 3, 3, 1), noise(3, 3, 3, 1)), InputError);
  EXPECT_THROW(psnr(std::vector<Image>(1), std::vector<Image>(1)), InputError);
}

TEST(Png, HoldsThePixels) {
  const auto file = std::filesystem::temp_directory_path() / "heed_image_test.png";
  for (const std::size_t channels : {1, 2, 3, 4}) {
    const Image image = noise(17, 5, channels, channels);
    write_file(file, to_png(image));
    const Image read = read_image(file);
    EXPECT_EQ(read.width, image.width);
    EXPECT_EQ(read.height, image.height);
    EXPECT_EQ(read.channels, channels);
    EXPECT_EQ(read.pixels, image.pixels);
  }
  std::string longer = to_png(noise(3, 3, 1, 1));
  longer[longer.find("IDAT") - 4] = '\x7F';  // two gigabytes, it says
  for (const std::string& damaged : {longer, longer.substr(0, 30)}) {
    write_file(file, damaged);
    EXPECT_THROW(read_image(file), InputError);
  }
  std::filesystem::remove(file);
  EXPECT_THROW(
      to_png({.width = 2, .height = 2, .channels = 5, .pixels = std::vector<std::uint8_t>(20)}),
      InputError);
  EXPECT_THROW(to_png({.width = 2, .height = 2, .channels = 1, .pixels = {0}}), InputError);
}

}  // namespace
}  // namespace heed::metrics
