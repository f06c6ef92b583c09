// Moving rows between the caller's layout and the kernels', compiled per target.
#if defined(HEED_KERNELS_PACK_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_PACK_INL
#undef HEED_KERNELS_PACK_INL
#else
#define HEED_KERNELS_PACK_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/convert.hpp"
#include "kernels/geometry.hpp"
#include "kernels/pairs-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class From, class T>
HWY_INLINE void copy_rows_as(const From* from, std::ptrdiff_t row_stride,
                             std::ptrdiff_t column_stride, std::int64_t rows, std::int64_t width,
                             T* HWY_RESTRICT to, std::ptrdiff_t to_stride) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const From* source = from + r * row_stride;
    T* target = to + r * to_stride;
    if (column_stride == 1) {
      for (std::int64_t c = 0; c < width; ++c) target[c] = from_stored<T>(source[c]);
    } else {
      for (std::int64_t c = 0; c < width; ++c) {
        target[c] = from_stored<T>(source[c * column_stride]);
      }
    }
    for (std::int64_t c = width; c < to_stride; ++c) target[c] = T{0};
  }
}

/// Copies `rows` rows of `width` numbers of any stored type; fills each target row up to to_stride
/// with zeros.
template <class T>
void copy_rows(const void* data, Type type, std::int64_t element, std::ptrdiff_t row_stride,
               std::ptrdiff_t column_stride, std::int64_t rows, std::int64_t width, T* to,
               std::ptrdiff_t to_stride) {
  const auto run = [&](auto* from) HWY_ATTR {
    copy_rows_as(from + element, row_stride, column_stride, rows, width, to, to_stride);
  };
  switch (type) {
    case Type::float32:
      return run(static_cast<const float*>(data));
    case Type::float64:
      return run(static_cast<const double*>(data));
    case Type::bfloat16:
      return run(static_cast<const BFloat16*>(data));
    case Type::float16:
      return run(static_cast<const Float16*>(data));
  }
}

/// The rows themselves where they are contiguous and of type T, else a copy in `scratch`.
template <class T>
Rows<T> view_rows(const Input& input, Type type, std::int64_t element, std::int64_t rows,
                  std::int64_t width, T* scratch, std::ptrdiff_t scratch_stride) {
  const bool same_type = type == (sizeof(T) == 8 ? Type::float64 : Type::float32);
  if (same_type && (input.stride[3] == 1 || width == 1)) {
    return {static_cast<const T*>(input.data) + element, input.stride[2]};
  }
  copy_rows(input.data, type, element, input.stride[2], input.stride[3], rows, width, scratch,
            scratch_stride);
  return {scratch, scratch_stride};
}

template <class T>
void store_row(const T* from, std::int64_t width, const Output& to, Type type,
               std::int64_t element) {
  const auto run = [&](auto* data) HWY_ATTR {
    using To = std::remove_pointer_t<decltype(data)>;
    To* target = data + element;
    for (std::int64_t c = 0; c < width; ++c) target[c * to.stride[3]] = to_stored<To>(from[c]);
  };
  switch (type) {
    case Type::float32:
      return run(static_cast<float*>(to.data));
    case Type::float64:
      return run(static_cast<double*>(to.data));
    case Type::bfloat16:
      return run(static_cast<BFloat16*>(to.data));
    case Type::float16:
      return run(static_cast<Float16*>(to.data));
  }
}

#if HWY_TARGET != HWY_SCALAR
/// Transposes the 4 x 4 blocks of four float vectors, each 128-bit block on its own.
template <class D, class V>
HWY_INLINE void transpose_blocks(D d, V& a, V& b, V& c, V& e) {
  const hn::RepartitionToWide<D> dw;
  const auto ab_low = hn::BitCast(dw, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(dw, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(dw, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(dw, hn::InterleaveUpper(d, c, e));
  a = hn::BitCast(d, hn::InterleaveLower(dw, ab_low, ce_low));
  b = hn::BitCast(d, hn::InterleaveUpper(dw, ab_low, ce_low));
  c = hn::BitCast(d, hn::InterleaveLower(dw, ab_high, ce_high));
  e = hn::BitCast(d, hn::InterleaveUpper(dw, ab_high, ce_high));
}

/// One vector from four floats of every fourth row: block i holds from[i * 4 * stride ...].
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, std::ptrdiff_t stride) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const auto blocks = static_cast<std::ptrdiff_t>(hn::Lanes(half) / 4);
    return hn::Combine(d, load_blocks(half, from + 4 * blocks * stride, stride),
                       load_blocks(half, from, stride));
  }
}

template <class D>
HWY_INLINE void store_blocks(D d, hn::Vec<D> v, float* to, std::ptrdiff_t stride) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    const auto blocks = static_cast<std::ptrdiff_t>(hn::Lanes(half) / 4);
    store_blocks(half, hn::LowerHalf(half, v), to, stride);
    store_blocks(half, hn::UpperHalf(half, v), to + 4 * blocks * stride, stride);
  }
}
#endif

/// run(d, first row) for whole vectors of rows, then of half as many, of 0 .. count; returns how
/// many were done.
template <class T, class Run>
HWY_INLINE std::int64_t in_vectors_of_rows([[maybe_unused]] std::int64_t count,
                                           [[maybe_unused]] const Run& run) {
  std::int64_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4) {
    const hn::ScalableTag<float> d;
    const auto n = static_cast<std::int64_t>(hn::Lanes(d));
    for (; r + n <= count; r += n) run(d, r);
    if constexpr (hn::MaxLanes(hn::ScalableTag<float>()) > 8) {
      for (; r + n / 2 <= count; r += n / 2) run(hn::Half<decltype(d)>(), r);
    }
  }
#endif
  return r;
}

/// panel[c * lanes + r] = rows[r][c]: rows become lanes. Rows from `count` to `lanes` are zero.
template <class T>
void rows_to_panel(Rows<T> rows, std::int64_t count, std::int64_t width, std::int64_t lanes,
                   T* HWY_RESTRICT panel) {
  std::int64_t r = in_vectors_of_rows<T>(count, [&](auto d, std::int64_t first) HWY_ATTR {
    const auto n = static_cast<std::int64_t>(hn::Lanes(d));
    const T* from = rows.at + first * rows.stride;
    std::int64_t c = 0;
    for (; c + 4 <= width; c += 4) {
      auto v0 = load_blocks(d, from + c, rows.stride);
      auto v1 = load_blocks(d, from + c + rows.stride, rows.stride);
      auto v2 = load_blocks(d, from + c + 2 * rows.stride, rows.stride);
      auto v3 = load_blocks(d, from + c + 3 * rows.stride, rows.stride);
      transpose_blocks(d, v0, v1, v2, v3);
      T* to = panel + c * lanes + first;
      hn::StoreU(v0, d, to);
      hn::StoreU(v1, d, to + lanes);
      hn::StoreU(v2, d, to + 2 * lanes);
      hn::StoreU(v3, d, to + 3 * lanes);
    }
    for (; c < width; ++c) {
      for (std::int64_t i = 0; i < n; ++i) panel[c * lanes + first + i] = from[i * rows.stride + c];
    }
  });
  for (; r < count; ++r) {
    const T* from = rows.at + r * rows.stride;
    for (std::int64_t c = 0; c < width; ++c) panel[c * lanes + r] = from[c];
  }
  if (count < lanes) {
    for (std::int64_t c = 0; c < width; ++c) {
      std::fill(panel + c * lanes + count, panel + (c + 1) * lanes, T{0});
    }
  }
}

/// rows_to_panel of rows of bfloat16 in pairs of neighbours; `room` has a row for each.
inline void pairs_to_panel(const Input& input, std::int64_t element, std::int64_t count,
                           std::int64_t width, std::int64_t lanes, Pair* room, Pair* panel) {
  pair_columns(input, element, count, width, room);
  const std::int64_t row = elements<Pair>(width);
  const auto numbers = [](void* pairs) { return static_cast<float*>(pairs); };  // to move them as
  rows_to_panel(Rows<float>{numbers(room), row}, count, row, lanes, numbers(panel));
}

/// rows[r][c] = panel[c * lanes + r] * times[r] for r < count; null: times 1.
template <class T>
void panel_to_rows(const T* HWY_RESTRICT panel, std::int64_t count, std::int64_t width,
                   std::int64_t lanes, T* rows, std::ptrdiff_t stride, const T* times = nullptr) {
  std::int64_t r = in_vectors_of_rows<T>(count, [&](auto d, std::int64_t first) HWY_ATTR {
    const auto n = static_cast<std::int64_t>(hn::Lanes(d));
    T* to = rows + first * stride;
    const auto factor = times != nullptr ? hn::LoadU(d, times + first) : hn::Set(d, T{1});
    std::int64_t c = 0;
    for (; c + 4 <= width; c += 4) {
      const T* from = panel + c * lanes + first;
      auto v0 = hn::Mul(hn::LoadU(d, from), factor);
      auto v1 = hn::Mul(hn::LoadU(d, from + lanes), factor);
      auto v2 = hn::Mul(hn::LoadU(d, from + 2 * lanes), factor);
      auto v3 = hn::Mul(hn::LoadU(d, from + 3 * lanes), factor);
      transpose_blocks(d, v0, v1, v2, v3);
      store_blocks(d, v0, to + c, stride);
      store_blocks(d, v1, to + c + stride, stride);
      store_blocks(d, v2, to + c + 2 * stride, stride);
      store_blocks(d, v3, to + c + 3 * stride, stride);
    }
    for (; c < width; ++c) {
      for (std::int64_t i = 0; i < n; ++i) {
        const T factor_here = times != nullptr ? times[first + i] : T{1};
        to[i * stride + c] = panel[c * lanes + first + i] * factor_here;
      }
    }
  });
  for (; r < count; ++r) {
    const T factor = times != nullptr ? times[r] : T{1};
    for (std::int64_t c = 0; c < width; ++c) rows[r * stride + c] = panel[c * lanes + r] * factor;
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
