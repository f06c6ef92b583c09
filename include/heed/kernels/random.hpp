#pragma once
#include <array>
#include <cstdint>

namespace heed::kernels {

/// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): four words
/// that depend on the counter and the key alone, so any thread can draw any of them.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// A word below this drops its weight; 2^32 (p = 1) drops all.
std::uint64_t dropout_threshold(double p);

/// The dropout decisions of one row of weights: keep[k] = 1 when (batch, head, query, k) is kept.
///
/// Word k % 4 of philox({k / 4, query, head, batch}, seed) decides, on every path and target.
/// keep: `keys` bytes.
void dropout_keep(std::uint64_t seed, double p, std::int64_t batch, std::int64_t head,
                  std::int64_t query, std::int64_t keys, std::uint8_t* keep);

/// A number of [0, 1) for a row that samples its key, from a counter that dropout never uses.
double row_uniform(std::uint64_t seed, std::int64_t batch, std::int64_t head, std::int64_t query);

}  // namespace heed::kernels
