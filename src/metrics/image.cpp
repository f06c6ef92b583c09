#include "heed/metrics/image.hpp"

#include <algorithm>
#include <cmath>

#include "heed/base/error.hpp"
#include "metrics/segments.hpp"

namespace heed::metrics {
namespace {

constexpr double kRange = 255;

using Plane = std::vector<double>;

void check(const char* who, std::span<const Image> a, std::span<const Image> b) {
  HEED_CHECK(a.size() == b.size(), "{}: {} images against {}", who, a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    HEED_CHECK(
        a[i].width == b[i].width && a[i].height == b[i].height && a[i].channels == b[i].channels,
        "{}: pair {}: {}×{} with {} channels against {}×{} with {}; equal sizes are needed", who,
        i + 1, a[i].width, a[i].height, a[i].channels, b[i].width, b[i].height, b[i].channels);
    for (const Image* image : {&a[i], &b[i]}) {
      HEED_CHECK(image->pixels.size() == image->width * image->height * image->channels &&
                     !image->pixels.empty(),
                 "{}: pair {}: {}×{}×{} needs as many values, and some; there are {}", who, i + 1,
                 image->width, image->height, image->channels, image->pixels.size());
    }
  }
}

double squared_error(const Image& a, const Image& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    const double difference = static_cast<double>(a.pixels[i]) - static_cast<double>(b.pixels[i]);
    sum += difference * difference;
  }
  return sum / static_cast<double>(a.pixels.size());
}

std::vector<double> window_weights(SsimWindow window) {
  if (window == SsimWindow::uniform) return std::vector<double>(7, 1.0 / 7);
  std::vector<double> weights;
  double sum = 0;
  for (int x = -5; x <= 5; ++x) sum += weights.emplace_back(std::exp(-0.5 * x * x / (1.5 * 1.5)));
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// The weighted mean at every place where the window fits: rows first, then columns.
Plane smooth(const Plane& plane, std::size_t width, std::size_t height,
             std::span<const double> weights) {
  const std::size_t n = weights.size(), inner = width - n + 1, rows = height - n + 1;
  Plane across(height * inner), out(rows * inner);
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < inner; ++x) {
      for (std::size_t k = 0; k < n; ++k)
        across[y * inner + x] += weights[k] * plane[y * width + x + k];
    }
  }
  for (std::size_t y = 0; y < rows; ++y) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t x = 0; x < inner; ++x)
        out[y * inner + x] += weights[k] * across[(y + k) * inner + x];
    }
  }
  return out;
}

Plane channel(const Image& image, std::size_t c) {
  Plane plane;
  for (std::size_t i = c; i < image.pixels.size(); i += image.channels)
    plane.push_back(image.pixels[i]);
  return plane;
}

Plane product(const Plane& a, const Plane& b) {
  Plane out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] * b[i];
  return out;
}

double similarity(const Image& a, const Image& b, SsimWindow window) {
  constexpr double kC1 = (0.01 * kRange) * (0.01 * kRange), kC2 = (0.03 * kRange) * (0.03 * kRange);
  const std::vector<double> weights = window_weights(window);
  HEED_CHECK(std::min(a.width, a.height) >= weights.size(),
             "ssim: {}×{} is smaller than the window of {}×{}", a.width, a.height, weights.size(),
             weights.size());
  const auto area = static_cast<double>(weights.size() * weights.size());
  const double unbias = window == SsimWindow::uniform ? area / (area - 1) : 1;
  double sum = 0;
  std::size_t places = 0;
  for (std::size_t c = 0; c < a.channels; ++c) {
    const Plane x = channel(a, c), y = channel(b, c);
    const auto mean = [&](const Plane& plane) { return smooth(plane, a.width, a.height, weights); };
    const Plane mx = mean(x), my = mean(y), mxx = mean(product(x, x)), myy = mean(product(y, y)),
                mxy = mean(product(x, y));
    for (std::size_t i = 0; i < mx.size(); ++i) {
      const double vx = unbias * (mxx[i] - mx[i] * mx[i]), vy = unbias * (myy[i] - my[i] * my[i]);
      const double vxy = unbias * (mxy[i] - mx[i] * my[i]);
      sum += (2 * mx[i] * my[i] + kC1) * (2 * vxy + kC2) /
             ((mx[i] * mx[i] + my[i] * my[i] + kC1) * (vx + vy + kC2));
    }
    places += mx.size();
  }
  return sum / static_cast<double>(places);
}

double mean_of(std::span<const double> row) { return ratio(row[0], row[1]); }

}  // namespace

Metric psnr(std::span<const Image> a, std::span<const Image> b) {
  check("psnr", a, b);
  SegmentSums sums(3);  // dB, pairs, squared error
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = squared_error(a[i], b[i]);
    sums.add({10 * std::log10(kRange * kRange / error), 1, error});
  }
  Metric metric{.name = "psnr",
                .signature = signature("psnr", {{"range", "255"}, {"average", "images"}})};
  metric.details = {{"mse", ratio(sums.total()[2], sums.total()[1])}, {"count", sums.total()[1]}};
  finish(metric, std::move(sums), mean_of);
  return metric;
}

Metric ssim(std::span<const Image> a, std::span<const Image> b, SsimWindow window) {
  check("ssim", a, b);
  SegmentSums sums(2);
  for (std::size_t i = 0; i < a.size(); ++i) sums.add({similarity(a[i], b[i], window), 1});
  const bool uniform = window == SsimWindow::uniform;
  Metric metric{.name = "ssim"};
  metric.signature = signature("ssim", {{"window", uniform ? "uniform7" : "gaussian11s1.5"},
                                        {"cov", uniform ? "sample" : "population"},
                                        {"K1", "0.01"},
                                        {"K2", "0.03"},
                                        {"range", "255"},
                                        {"edge", "valid"}});
  metric.details = {{"count", sums.total()[1]}};
  finish(metric, std::move(sums), mean_of);
  return metric;
}

Metric iou(std::span<const Image> predicted, std::span<const Image> gold) {
  check("iou", predicted, gold);
  SegmentSums sums(6);  // IoU, pairs, intersection, union, predicted, gold
  for (std::size_t i = 0; i < gold.size(); ++i) {
    HEED_CHECK(gold[i].channels == 1, "iou: pair {}: a mask has one channel, not {}", i + 1,
               gold[i].channels);
    double both = 0, either = 0, marked = 0, wanted = 0;
    for (std::size_t p = 0; p < gold[i].pixels.size(); ++p) {
      const bool x = predicted[i].pixels[p] > 127, y = gold[i].pixels[p] > 127;
      both += x && y;
      either += x || y;
      marked += x;
      wanted += y;
    }
    sums.add({ratio(both, either, 1), 1, both, either, marked, wanted});
  }
  const std::vector<double> t = sums.total();
  Metric metric{.name = "iou"};
  metric.signature =
      signature("iou", {{"threshold", "127"}, {"average", "images"}, {"empty", "1"}});
  metric.details = {{"intersection", t[2]},
                    {"union", t[3]},
                    {"pooled", ratio(t[2], t[3], 1)},
                    {"dice", ratio(2 * t[2], t[4] + t[5], 1)},
                    {"count", t[1]}};
  finish(metric, std::move(sums), mean_of);
  return metric;
}

}  // namespace heed::metrics
