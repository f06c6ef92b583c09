#pragma once
#include <atomic>

namespace heed::kernels {

/// Obeys HEED_SIMD the first time it is called; every entry point calls it before it dispatches.
void apply_simd_environment();

/// Whether the target in use multiplies pairs of bfloat16 (AVX-512 BF16).
bool pair_products();

/// Whether it multiplies them in tiles (AMX); kept up by apply_simd_environment.
extern std::atomic<bool> tiles_in_use;
inline bool tile_products() { return tiles_in_use.load(std::memory_order_relaxed); }

/// For tests that execute AMX's instructions themselves: from now on this machine counts as having
/// them.
void assume_tiles();

}  // namespace heed::kernels
