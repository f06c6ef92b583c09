// The elements of products: numbers of the working type, or pairs of bfloat16, which AVX-512 BF16
// multiplies and adds two at a time (float32 sums). Compiled per target.
#if defined(HEED_KERNELS_PAIRS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_PAIRS_INL
#undef HEED_KERNELS_PAIRS_INL
#else
#define HEED_KERNELS_PAIRS_INL
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "heed/kernels/attention.hpp"
#include "kernels/convert.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Rows of elements, each contiguous.
template <class E>
struct Rows {
  const E* at;
  std::ptrdiff_t stride;
};

template <class D>
HWY_INLINE hn::Vec<D> load_elements(D d, const hn::TFromD<D>* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load_elements(D d, const Pair* from) {
  return hn::BitCast(d, hn::LoadU(hn::Repartition<std::uint8_t, D>(),
                                  reinterpret_cast<const std::uint8_t*>(from)));
}

template <class D>
HWY_INLINE hn::Vec<D> spread_element(D d, const hn::TFromD<D>* from) {
  return hn::Set(d, *from);
}
template <class D>
HWY_INLINE hn::Vec<D> spread_element(D d, const Pair* from) {
  return hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), from->bits));
}

// Highway 1.0.3 has no name for these instructions, and a target of its own for them would compile
// every kernel once more: they are written out, in code that is only reached where the machine has
// them (see pair_products in simd_internal.hpp).
#if HWY_TARGET == HWY_AVX3
constexpr bool kHasPairs = true;

/// sum + a * b, element by element; of pairs both products, odd before even.
template <class E, class V>
HWY_INLINE V add_product(V a, V b, V sum) {
  if constexpr (std::is_same_v<E, Pair>) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
  } else {
    return hn::MulAdd(a, b, sum);
  }
}

/// Rounds to bfloat16: those of `low`, then those of `high`.
template <class V>
HWY_INLINE __m512i round_both(V low, V high) {
  __m512i both;
  asm("vcvtne2ps2bf16 %2, %1, %0" : "=v"(both) : "v"(high.raw), "v"(low.raw));
  return both;
}

/// Rounds to pairs: element i is (even[i], odd[i]).
template <class V>
HWY_INLINE void store_pairs(V even, V odd, Pair* to) {
  alignas(64) static constexpr std::uint16_t kOrder[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  _mm512_storeu_si512(to,
                      _mm512_permutexvar_epi16(_mm512_load_si512(kOrder), round_both(even, odd)));
}

/// Rounds `count` rows of `wide` weights, `pitch` apart, to pairs of rows.
inline void pair_weights(const float* rows, std::int64_t pitch, std::int64_t count,
                         std::int64_t wide, Pair* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < count; r += 2) {
    for (std::int64_t i = 0; i < wide; i += lanes) {
      const float* at = rows + r * pitch + i;
      const auto odd = r + 1 < count ? hn::Load(d, at + pitch) : hn::Zero(d);
      store_pairs(hn::Load(d, at), odd, to + r / 2 * wide + i);
    }
  }
}

/// Rounds `count` rows of `wide` weights, `pitch` apart, each to pairs of its neighbours; rows of
/// `to` are pitch / 2 apart and are filled with zeros to whole vectors.
inline void pair_neighbours(const float* rows, std::int64_t pitch, std::int64_t count,
                            std::int64_t wide, Pair* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t i = 0; i < wide; i += 2 * lanes) {
      const float* at = rows + r * pitch + i;
      const auto low = hn::Load(d, at);
      const auto high = i + lanes < wide ? hn::Load(d, at + lanes) : hn::Zero(d);
      _mm512_storeu_si512(to + (r * pitch + i) / 2, round_both(low, high));
    }
  }
}
#else
constexpr bool kHasPairs = false;

template <class E, class V>
HWY_INLINE V add_product(V a, V b, V sum) {
  return hn::MulAdd(a, b, sum);
}
#endif

/// to[r][c] = (rows[2r][c], rows[2r + 1][c]); a last row without a partner gets zeros for it.
template <class D>  // of 32-bit numbers
void pair_rows(D d, const Input& input, std::int64_t element, std::int64_t count,
               std::int64_t width, Pair* to) {
  const BFloat16* rows = static_cast<const BFloat16*>(input.data) + element;
  const std::ptrdiff_t row_stride = input.stride[2], column_stride = input.stride[3];
  const hn::Rebind<std::uint16_t, D> half;
  const hn::Repartition<std::uint8_t, D> bytes;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < count; r += 2, to += width) {
    const BFloat16* even = rows + r * row_stride;
    const BFloat16* odd = even + row_stride;
    const bool both = r + 1 < count;
    std::int64_t c = 0;
    for (; both && column_stride == 1 && c + lanes <= width; c += lanes) {
      const auto low = hn::PromoteTo(d, hn::LoadU(half, &even[c].bits));
      const auto high = hn::PromoteTo(d, hn::LoadU(half, &odd[c].bits));
      hn::StoreU(hn::BitCast(bytes, hn::Or(low, hn::ShiftLeft<16>(high))), bytes,
                 reinterpret_cast<std::uint8_t*>(to + c));
    }
    for (; c < width; ++c) {
      const std::uint32_t high = both ? odd[c * column_stride].bits : 0;
      to[c].bits = even[c * column_stride].bits | high << 16;
    }
  }
}

/// to[r] = the numbers of rows[r], two an element, the last one with a zero where `width` is odd.
inline void pair_columns(const Input& input, std::int64_t element, std::int64_t count,
                         std::int64_t width, Pair* to) {
  const BFloat16* rows = static_cast<const BFloat16*>(input.data) + element;
  const std::ptrdiff_t row_stride = input.stride[2], column_stride = input.stride[3];
  for (std::int64_t r = 0; r < count; ++r, to += elements<Pair>(width)) {
    const BFloat16* row = rows + r * row_stride;
    if (column_stride == 1 && width % 2 == 0) {
      std::memcpy(to, row, static_cast<std::size_t>(width) * sizeof(BFloat16));
      continue;
    }
    for (std::int64_t c = 0; c < width; c += 2) {
      const std::uint32_t high = c + 1 < width ? row[(c + 1) * column_stride].bits : 0;
      to[c / 2].bits = row[c * column_stride].bits | high << 16;
    }
  }
}

/// Whether no number of `count` rows of bfloat16, the first at `element`, is an infinity or NaN.
inline bool all_finite(const Input& input, std::int64_t element, std::int64_t count,
                       std::int64_t width) {
  constexpr std::uint16_t kExponent = 0x7F80;
  const std::ptrdiff_t column_stride = input.stride[3];
  std::uint16_t bad = 0;
  for (std::int64_t r = 0; r < count; ++r) {
    const BFloat16* row = static_cast<const BFloat16*>(input.data) + element + r * input.stride[2];
    if (column_stride == 1) {  // left to the compiler's vectors
      for (std::int64_t c = 0; c < width; ++c) bad |= (row[c].bits & kExponent) == kExponent;
    } else {
      for (std::int64_t c = 0; c < width; ++c) {
        bad |= (row[c * column_stride].bits & kExponent) == kExponent;
      }
    }
  }
  return bad == 0;
}

/// The rows themselves where each begins with a whole pair, else a copy in `scratch`.
inline Rows<Pair> view_pairs(const Input& input, std::int64_t element, std::int64_t count,
                             std::int64_t width, Pair* scratch) {
  const BFloat16* rows = static_cast<const BFloat16*>(input.data) + element;
  if (input.stride[3] == 1 && width % 2 == 0 && input.stride[2] % 2 == 0) {
    return {reinterpret_cast<const Pair*>(rows), input.stride[2] / 2};
  }
  pair_columns(input, element, count, width, scratch);
  return {scratch, elements<Pair>(width)};
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
