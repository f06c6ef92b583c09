#include "heed/kernels/simd.hpp"

#include <hwy/highway.h>

#include <cstdlib>
#include <stdexcept>
#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "kernels/simd_internal.hpp"

namespace heed::kernels {
namespace {

/// What a target has besides Highway's; each has what those before it have.
enum class Extra { nothing, pairs, tiles };

struct NamedTarget {
  const char* name;
  std::int64_t bit;
  Extra extra = Extra::nothing;
};

// AVX3_DL is left out on purpose: Highway 1.0.3 compiles it with instructions that Zen 4 lacks.
constexpr NamedTarget kTargets[] = {{"amx", HWY_AVX3, Extra::tiles},
                                    {"avx512bf16", HWY_AVX3, Extra::pairs},
                                    {"avx512", HWY_AVX3},
                                    {"avx2", HWY_AVX2},
                                    {"sse4", HWY_SSE4},
                                    {"neon", HWY_NEON},
                                    {"scalar", HWY_SCALAR}};

bool tiles_assumed = false;

#if defined(__x86_64__) && defined(__linux__)
bool ask_for_tiles() {
  constexpr unsigned kTile = 1u << 24, kBFloat16 = 1u << 22;  // AMX-TILE, AMX-BF16 of leaf 7, EDX
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool there = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0;
  if (!there || (d & (kTile | kBFloat16)) != (kTile | kBFloat16)) return false;
  // Linux keeps the tiles of a process only after it has asked for that, and says so if it cannot.
  constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}
#else
bool ask_for_tiles() { return false; }
#endif

bool may_use_tiles() {
  static const bool granted = ask_for_tiles();
  return granted || tiles_assumed;
}

bool has([[maybe_unused]] Extra extra) {
#if HWY_ARCH_X86
  if (extra == Extra::nothing) return true;
  return __builtin_cpu_supports("avx512bf16") && (extra == Extra::pairs || may_use_tiles());
#else
  return extra == Extra::nothing;
#endif
}

bool available(const NamedTarget& target) {
  if (!has(target.extra)) return false;
  return target.bit == HWY_SCALAR || (hwy::SupportedTargets() & HWY_TARGETS & target.bit) != 0;
}

const NamedTarget& best() {
  const NamedTarget* target = kTargets;
  while (!available(*target)) ++target;  // "scalar" always is
  return *target;
}

const NamedTarget* forced = nullptr;  // null: the best

std::atomic<bool> pairs_in_use{false};  // kept: to look for a target costs more than small problems

const NamedTarget& in_use() { return forced == nullptr ? best() : *forced; }

void force(const NamedTarget* target) {
  hwy::GetChosenTarget().Update(target == nullptr ? hwy::SupportedTargets() : target->bit);
  forced = target;
  const Extra extra = in_use().extra;
  pairs_in_use.store(extra >= Extra::pairs, std::memory_order_relaxed);
  tiles_in_use.store(extra == Extra::tiles, std::memory_order_relaxed);
}

}  // namespace

std::atomic<bool> tiles_in_use{false};

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const NamedTarget& target : kTargets) {
    if (available(target)) names.emplace_back(target.name);
  }
  return names;
}

void force_simd_target(std::string_view name) {
  if (name.empty()) return force(nullptr);
  for (const NamedTarget& target : kTargets) {
    if (name == target.name && available(target)) return force(&target);
  }
  std::string known;
  for (const std::string& each : simd_targets()) known += (known.empty() ? "" : ", ") + each;
  throw std::invalid_argument("HEED_SIMD: no target '" + std::string(name) +
                              "' on this machine; it has " + known);
}

void apply_simd_environment() {
  static const bool once = [] {
    const char* name = std::getenv("HEED_SIMD");
    if (forced == nullptr) force_simd_target(name == nullptr ? "" : name);
    return true;
  }();
  static_cast<void>(once);
}

std::string simd_target() {
  apply_simd_environment();
  return in_use().name;
}

bool pair_products() {
  apply_simd_environment();
  return pairs_in_use.load(std::memory_order_relaxed);
}

void assume_tiles() {
  tiles_assumed = true;
  force(forced);
}

}  // namespace heed::kernels
