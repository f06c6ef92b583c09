#include "attention/dropout.hpp"

#include "heed/kernels/random.hpp"

namespace heed {

Tensor dropout_mask(const Tensor& weights, double p, std::uint64_t seed) {
  const std::int64_t B = weights.size(0), H = weights.size(1), Q = weights.size(2),
                     K = weights.size(3);
  const Tensor keep = torch::empty({B, H, Q, K}, torch::kUInt8);
  std::uint8_t* row = keep.data_ptr<std::uint8_t>();
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t q = 0; q < Q; ++q, row += K)
        kernels::dropout_keep(seed, p, b, h, q, K, row);
    }
  }
  return keep.to(weights.device(), weights.scalar_type()).div_(1 - p);
}

Tensor row_uniforms(const Tensor& weights, std::uint64_t seed) {
  const std::int64_t B = weights.size(0), H = weights.size(1), Q = weights.size(2);
  const Tensor uniform = torch::empty({B, H, Q}, torch::kFloat64);
  double* at = uniform.data_ptr<double>();
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t q = 0; q < Q; ++q) *at++ = kernels::row_uniform(seed, b, h, q);
    }
  }
  return uniform.to(weights.device(), weights.scalar_type());
}

Tensor pair_uniforms(const Tensor& weights, std::uint64_t seed) {
  const std::int64_t B = weights.size(0), H = weights.size(1), Q = weights.size(2),
                     K = weights.size(3);
  const Tensor uniform = torch::empty({B, H, Q, K}, torch::kFloat64);
  double* at = uniform.data_ptr<double>();
  const auto word = [](std::int64_t x) { return static_cast<std::uint32_t>(x); };
  for (std::int64_t row = 0; row < B * H * Q; ++row) {
    std::array<std::uint32_t, 4> drawn{};
    for (std::int64_t k = 0; k < K; ++k) {
      if (k % 4 == 0) {
        drawn = kernels::philox(
            {0x80000000u | word(k / 4), word(row % Q), word(row / Q % H), word(row / Q / H)},
            {word(static_cast<std::int64_t>(seed)), word(static_cast<std::int64_t>(seed >> 32))});
      }
      *at++ = static_cast<double>(drawn[static_cast<std::size_t>(k % 4)] >> 8) * 0x1p-24;
    }
  }
  return uniform.to(weights.device(), weights.scalar_type());
}

}  // namespace heed
