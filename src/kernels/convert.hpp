#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

namespace heed::kernels {

struct BFloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};

/// Two bfloat16 numbers that are multiplied with two others and added, the first in the low half.
struct __attribute__((packed, may_alias)) Pair {
  std::uint32_t bits;
};

/// How many numbers of a product an operand's element holds.
template <class E>
constexpr std::int64_t kNumbers = std::is_same_v<E, Pair> ? 2 : 1;

/// The type that products of such elements are summed in.
template <class E>
using Working = std::conditional_t<std::is_same_v<E, Pair>, float, E>;

/// Elements that hold `n` numbers.
template <class E>
constexpr std::int64_t elements(std::int64_t n) {
  return (n + kNumbers<E> - 1) / kNumbers<E>;
}

// Branch-free on purpose: these loops are vectorised by the compiler for each target.

inline float widen(BFloat16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

inline float widen(Float16 x) {
  const std::uint32_t magnitude = x.bits & 0x7FFFu;
  const std::uint32_t sign = (x.bits & 0x8000u) << 16;
  // Moves the exponent's bias from 15 to 127, subnormals included; infinity and NaN need the top.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t special = magnitude >= 0x7C00u ? 0x7F800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

/// Round to nearest, ties to even; NaN stays NaN.
inline BFloat16 narrow_bfloat16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x40u;
  return {static_cast<std::uint16_t>(x != x ? nan : rounded)};
}

inline Float16 narrow_float16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t half;
  if (magnitude > 0x7F800000u) {
    half = 0x7E00u;
  } else if (magnitude >= 0x477FF000u) {  // 65520 and above round to infinity
    half = 0x7C00u;
  } else if (magnitude < 0x38800000u) {  // below 2^-14: subnormal, the addition rounds
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  } else {
    half = (magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return {static_cast<std::uint16_t>(half | sign)};
}

template <class T>
T from_stored(float x) {
  return static_cast<T>(x);
}
template <class T>
T from_stored(double x) {
  return static_cast<T>(x);
}
template <class T>
T from_stored(BFloat16 x) {
  return static_cast<T>(widen(x));
}
template <class T>
T from_stored(Float16 x) {
  return static_cast<T>(widen(x));
}

template <class To, class T>
To to_stored(T x) {
  if constexpr (std::is_same_v<To, BFloat16>) {
    return narrow_bfloat16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, Float16>) {
    return narrow_float16(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace heed::kernels
