// Dropout of a panel of weights, compiled per target.
#if defined(HEED_KERNELS_DROPOUT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_DROPOUT_INL
#undef HEED_KERNELS_DROPOUT_INL
#else
#define HEED_KERNELS_DROPOUT_INL
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "heed/kernels/random.hpp"
#include "kernels/scores-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

/// The words of philox() for `lanes` consecutive queries at once: words[w][lane].
///
/// Plain loops over the lanes: the compiler makes vectors of them on every target.
inline void philox_lanes(std::uint32_t group, std::int64_t query, std::uint32_t head,
                         std::uint32_t batch, std::uint64_t seed, int lanes,
                         std::uint32_t (&words)[4][kQueryBlock]) {
  auto& [c0, c1, c2, c3] = words;
  for (int i = 0; i < lanes; ++i) {
    c0[i] = group;
    c1[i] = static_cast<std::uint32_t>(query) + static_cast<std::uint32_t>(i);
    c2[i] = head;
    c3[i] = batch;
  }
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < lanes; ++i) {
      const std::uint64_t first = 0xD2511F53ull * c0[i];
      const std::uint64_t second = 0xCD9E8D57ull * c2[i];
      c0[i] = static_cast<std::uint32_t>(second >> 32) ^ c1[i] ^ key0;
      c1[i] = static_cast<std::uint32_t>(second);
      c2[i] = static_cast<std::uint32_t>(first >> 32) ^ c3[i] ^ key1;
      c3[i] = static_cast<std::uint32_t>(first);
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

/// factors[r][lane] = 0 where (query, key + r) is dropped, else 1 / (1 - p).
template <class T>
void dropout_tile(const ScoreSetup<T>& setup, Panel panel, std::int64_t key, std::int64_t count,
                  T* factors) {
  const AttentionProblem& p = setup.p;
  const std::uint64_t threshold = dropout_threshold(p.dropout);
  const T kept = p.dropout < 1 ? static_cast<T>(1 / (1 - p.dropout)) : T{0};
  if (threshold == 0) {
    std::fill(factors, factors + count * panel.lanes, kept);
    return;
  }
  const auto below = static_cast<std::uint32_t>(threshold - 1);
  const auto lanes = static_cast<int>(panel.lanes);
  std::uint32_t words[4][kQueryBlock];
  for (std::int64_t group = key / 4; group * 4 < key + count; ++group) {
    philox_lanes(static_cast<std::uint32_t>(group), panel.query,
                 static_cast<std::uint32_t>(setup.head), static_cast<std::uint32_t>(setup.e.index),
                 p.seed, lanes, words);
    for (std::int64_t w = 0; w < 4; ++w) {
      const std::int64_t r = group * 4 + w - key;
      if (r < 0 || r >= count) continue;
      T* row = factors + r * panel.lanes;
      for (int i = 0; i < lanes; ++i) row[i] = words[w][i] > below ? kept : T{0};
    }
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
