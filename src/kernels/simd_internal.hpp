#pragma once

namespace heed::kernels {

/// Obeys HEED_SIMD the first time it is called; every entry point calls it before it dispatches.
void apply_simd_environment();

}  // namespace heed::kernels
