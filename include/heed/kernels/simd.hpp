#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace heed::kernels {

/// Instruction sets that this machine has and the kernels were built for, best first, of
/// "amx" "avx512bf16" "avx512" "avx2" "sse4" "neon" "scalar".
std::vector<std::string> simd_targets();

/// The one in use: the best, or what HEED_SIMD or `force_simd_target` asked for.
std::string simd_target();

/// Uses `name` from now on, in the whole process; an empty name goes back to the best. Throws
/// std::invalid_argument for a name that is not in simd_targets(). Not while kernels run.
void force_simd_target(std::string_view name);

}  // namespace heed::kernels
