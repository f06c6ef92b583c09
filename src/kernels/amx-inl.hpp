// Products of bfloat16 pairs in the tiles of AMX: 16 rows of 16 elements each, multiplied and added
// 8192 numbers at a time. Compiled per target; empty where there is no such machine.
#if defined(HEED_KERNELS_AMX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_AMX_INL
#undef HEED_KERNELS_AMX_INL
#else
#define HEED_KERNELS_AMX_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/pack-inl.hpp"
#include "kernels/simd_internal.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kTile = 16;  // rows of a tile, and elements of each

#if HWY_TARGET == HWY_AVX3 && defined(__x86_64__)
constexpr bool kHasTiles = true;

// Tile registers 0 to 3 hold sums, 4 the rows, 5 to 7 the columns in turn. They are named in the
// text of the instructions: the compiler uses none of them, and needs no flag this way.

/// While it lives, this thread's tiles have 16 rows of 64 bytes each, where they are wanted and the
/// target has them.
class TileSession {
 public:
  explicit TileSession(bool wanted) : open_(wanted && tile_products()) {
    if (!open_) return;
    struct alignas(64) Config {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {};
      std::uint8_t rows[16] = {};
    } config;
    std::fill_n(config.row_bytes, 8, std::uint16_t{64});
    std::fill_n(config.rows, 8, std::uint8_t{kTile});
    asm volatile("ldtilecfg %0" : : "m"(config));
  }
  ~TileSession() {
    if (open_) asm volatile("tilerelease");
  }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;

 private:
  bool open_;
};

template <int Register>
HWY_INLINE void clear_tile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(Register));
}
/// `pitch` elements are between the rows.
template <int Register>
HWY_INLINE void load_tile(const Pair* from, std::ptrdiff_t pitch) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2"
               :
               : "r"(from), "r"(pitch * static_cast<std::ptrdiff_t>(sizeof(Pair))), "i"(Register)
               : "memory");
}
template <int Register>
HWY_INLINE void store_tile(float* to, std::ptrdiff_t pitch) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)"
               :
               : "r"(to), "r"(pitch * static_cast<std::ptrdiff_t>(sizeof(float))), "i"(Register)
               : "memory");
}

/// Calls f with 0 .. NV - 1 as compile-time constants.
template <int NV, class F>
HWY_INLINE void for_each_register(F&& f) {
  f(std::integral_constant<int, 0>());
  if constexpr (NV > 1) f(std::integral_constant<int, 1>());
  if constexpr (NV > 2) f(std::integral_constant<int, 2>()), f(std::integral_constant<int, 3>());
}

/// The rows of a product as a tile: where they lie, or, at the ends and where their elements are
/// not neighbours, copied to `room` with zeros behind the last step.
inline Rows<Pair> tile_rows(const Pair* at, std::ptrdiff_t row_stride, std::ptrdiff_t step_stride,
                            std::int64_t rows, std::int64_t steps, Pair* room) {
  if (step_stride == 1) {
    if (rows == kTile && steps == kTile) return {at, row_stride};
    for (std::int64_t r = 0; r < rows; ++r) {
      std::copy_n(at + r * row_stride, steps, room + r * kTile);
      std::fill_n(room + r * kTile + steps, kTile - steps, Pair{0});
    }
  } else {
    const auto numbers = [](const void* pairs) { return static_cast<const float*>(pairs); };
    rows_to_panel(Rows<float>{numbers(at), step_stride}, steps, rows, kTile,
                  const_cast<float*>(numbers(room)));
  }
  return {room, kTile};
}

/// What `multiply` does, see tile-inl.hpp: element (row, step) of the left side is
/// at[row * row_stride + step * step_stride]. A sum's bits do not depend on `rows` or NV.
template <int NV, class DF, class Sink>
HWY_INLINE void multiply_in_tiles(DF d, std::int64_t rows, const Pair* at,
                                  std::ptrdiff_t row_stride, std::ptrdiff_t step_stride,
                                  const Pair* vectors, std::ptrdiff_t step, std::int64_t steps,
                                  Sink&& sink) {
  constexpr std::int64_t kWide = NV * kTile;
  alignas(64) Pair left[kTile * kTile] = {}, right[kTile * kWide];
  alignas(64) float sums[kTile * kWide];
  for (std::int64_t row = 0; row < rows; row += kTile) {
    const std::int64_t high = std::min(kTile, rows - row);
    for_each_register<NV>([](auto v) HWY_ATTR { clear_tile<v.value>(); });
    for (std::int64_t t = 0; t < steps; t += kTile) {
      const std::int64_t deep = std::min(kTile, steps - t);
      Rows<Pair> columns{vectors + t * step, step};
      if (deep < kTile) {  // behind the last step may lie what is not finite
        for (std::int64_t i = 0; i < deep; ++i) {
          std::copy_n(columns.at + i * step, kWide, right + i * kWide);
        }
        std::fill(right + deep * kWide, right + kTile * kWide, Pair{0});
        columns = {right, kWide};
      }
      const Pair* first = at + row * row_stride + t * step_stride;
      const Rows<Pair> tile = tile_rows(first, row_stride, step_stride, high, deep, left);
      load_tile<4>(tile.at, tile.stride);
      for_each_register<NV>([&](auto v) HWY_ATTR {
        constexpr int kColumns = 5 + v.value % 3;
        load_tile<kColumns>(columns.at + v.value * kTile, columns.stride);
        asm volatile("tdpbf16ps %%tmm%c1, %%tmm4, %%tmm%c0" : : "i"(v.value), "i"(kColumns));
      });
    }
    for_each_register<NV>([&](auto v)
                              HWY_ATTR { store_tile<v.value>(sums + v.value * kTile, kWide); });
    for (std::int64_t r = 0; r < high; ++r) {
      for (int v = 0; v < NV; ++v) sink(row + r, v, hn::Load(d, sums + r * kWide + v * kTile));
    }
  }
}
#else
constexpr bool kHasTiles = false;

struct TileSession {
  explicit TileSession(bool /*wanted*/) {}
};
#endif

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
