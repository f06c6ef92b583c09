#include "heed/kernels/simd.hpp"

#include <hwy/highway.h>

#include <cstdlib>
#include <stdexcept>

#include "kernels/simd_internal.hpp"

namespace heed::kernels {
namespace {

struct NamedTarget {
  const char* name;
  std::int64_t bit;
};

// AVX3_DL is left out on purpose: Highway 1.0.3 compiles it with instructions that Zen 4 lacks.
constexpr const char* kWithPairs = "avx512bf16";
constexpr NamedTarget kTargets[] = {{kWithPairs, HWY_AVX3}, {"avx512", HWY_AVX3},
                                    {"avx2", HWY_AVX2},     {"sse4", HWY_SSE4},
                                    {"neon", HWY_NEON},     {"scalar", HWY_SCALAR}};

bool has_pair_products() {
#if HWY_ARCH_X86
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

bool available(const NamedTarget& target) {
  if (target.name == kWithPairs && !has_pair_products()) return false;
  return target.bit == HWY_SCALAR || (hwy::SupportedTargets() & HWY_TARGETS & target.bit) != 0;
}

std::string forced;  // empty: the best

}  // namespace

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const NamedTarget& target : kTargets) {
    if (available(target)) names.emplace_back(target.name);
  }
  return names;
}

void force_simd_target(std::string_view name) {
  if (name.empty()) {
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    forced.clear();
    return;
  }
  for (const NamedTarget& target : kTargets) {
    if (name == target.name && available(target)) {
      hwy::GetChosenTarget().Update(target.bit);
      forced = name;
      return;
    }
  }
  std::string known;
  for (const std::string& each : simd_targets()) known += (known.empty() ? "" : ", ") + each;
  throw std::invalid_argument("HEED_SIMD: no target '" + std::string(name) +
                              "' on this machine; it has " + known);
}

void apply_simd_environment() {
  static const bool once = [] {
    const char* name = std::getenv("HEED_SIMD");
    if (name != nullptr && *name != '\0' && forced.empty()) force_simd_target(name);
    return true;
  }();
  static_cast<void>(once);
}

std::string simd_target() {
  apply_simd_environment();
  return forced.empty() ? simd_targets().front() : forced;
}

bool pair_products() {
  apply_simd_environment();
  return forced.empty() ? available(kTargets[0]) : forced == kWithPairs;
}

}  // namespace heed::kernels
