#include "heed/mechanisms/dropout.hpp"

#include <ATen/Parallel.h>

#include <cmath>
#include <limits>

#include "heed/base/random.hpp"

namespace heed {

Tensor drop_features(const Tensor& x, double p, bool training) {
  if (!training || p <= 0) return x;
  if (p >= 1 || !x.device().is_cpu() || x.scalar_type() != torch::kFloat32)
    return torch::dropout(x, p, training);
  constexpr std::int64_t kPerWord = 4;  // decisions of 16 bits
  const auto seed = static_cast<std::uint64_t>(
      torch::randint(std::numeric_limits<std::int64_t>::max(), {1}, torch::kInt64)
          .item<std::int64_t>());
  const auto below = static_cast<std::uint64_t>(std::llround(p * 65536));
  const auto kept = static_cast<float>(65536.0 / (65536.0 - static_cast<double>(below)));
  const Tensor factors = torch::empty(x.sizes(), x.options());
  float* out = factors.data_ptr<float>();
  const std::int64_t n = x.numel();
  at::parallel_for(
      0, (n + kPerWord - 1) / kPerWord, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::uint64_t word =
              Random(seed + static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u).next();
          const std::int64_t last = std::min(n, (i + 1) * kPerWord);
          for (std::int64_t j = i * kPerWord; j < last; ++j)
            out[j] = (word >> (16 * (j % kPerWord)) & 0xFFFF) < below ? 0.0f : kept;
        }
      });
  return x * factors;
}

}  // namespace heed
