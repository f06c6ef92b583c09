#pragma once

namespace heed::kernels {

/// Obeys HEED_SIMD the first time it is called; every entry point calls it before it dispatches.
void apply_simd_environment();

/// Whether the target in use multiplies pairs of bfloat16 (AVX-512 BF16).
bool pair_products();

}  // namespace heed::kernels
