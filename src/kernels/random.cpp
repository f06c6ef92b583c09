#include "heed/kernels/random.hpp"

#include <algorithm>
#include <cmath>

namespace heed::kernels {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = 0xD2511F53ull * counter[0];
    const std::uint64_t second = 0xCD9E8D57ull * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(first)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

std::uint64_t dropout_threshold(double p) {
  const double words = std::clamp(p, 0.0, 1.0) * 4294967296.0;
  return static_cast<std::uint64_t>(std::llround(words));
}

double row_uniform(std::uint64_t seed, std::int64_t batch, std::int64_t head, std::int64_t query) {
  const auto words =
      philox({0xFFFFFFFFu, static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(head),
              static_cast<std::uint32_t>(batch)},
             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  // 24 bits, so that float32 and float64 draw the same number, and it stays below 1.
  return static_cast<double>(words[0] >> 8) * 0x1p-24;
}

void dropout_keep(std::uint64_t seed, double p, std::int64_t batch, std::int64_t head,
                  std::int64_t query, std::int64_t keys, std::uint8_t* keep) {
  const std::uint64_t threshold = dropout_threshold(p);
  const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(seed),
                                         static_cast<std::uint32_t>(seed >> 32)};
  for (std::int64_t k = 0; k < keys; k += 4) {
    const auto words = philox({static_cast<std::uint32_t>(k / 4), static_cast<std::uint32_t>(query),
                               static_cast<std::uint32_t>(head), static_cast<std::uint32_t>(batch)},
                              key);
    for (std::int64_t j = k; j < std::min(k + 4, keys); ++j) keep[j] = words[j - k] >= threshold;
  }
}

}  // namespace heed::kernels
