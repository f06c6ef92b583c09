// 2^x for the softmax, compiled per target.
#if defined(HEED_KERNELS_EXP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_EXP_INL
#undef HEED_KERNELS_EXP_INL
#else
#define HEED_KERNELS_EXP_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Exp2Constants;

// (2^x - 1) / x on [-1/2, 1/2], Chebyshev fits: relative error below 1e-8 and 1e-17. The constant
// term of 2^x is then exactly 1, so the row maximum has weight exactly 1.
template <>
struct Exp2Constants<float> {
  static constexpr float kPoly[] = {1.5453163e-4f,  1.33908634e-3f, 9.61808256e-3f,
                                    5.55035711e-2f, 2.40226508e-1f, 6.93147188e-1f};
  static constexpr float kSmallest = -126.0f;            // exponent of a normal number
  static constexpr float kMagic = 12582912.0f + 127.0f;  // 1.5 * 2^23: rounds, leaves n + bias
  static constexpr int kMantissa = 23;
};

template <>
struct Exp2Constants<double> {
  static constexpr double kPoly[] = {
      4.4549605981865183938e-10, 7.0725859492692236999e-09, 1.0178062445845773521e-07,
      1.3215442587921689653e-06, 1.5252733829836118394e-05, 1.5403530441736050155e-04,
      1.333355814641693531e-03,  9.6181291076068885273e-03, 5.5504108664821594339e-02,
      2.402265069591009822e-01,  6.9314718055994530942e-01};
  static constexpr double kSmallest = -1022.0;
  static constexpr double kMagic = 6755399441055744.0 + 1023.0;
  static constexpr int kMantissa = 52;
};

/// For weights that are rounded to bfloat16: relative error below 3e-6.
struct RoughExp2Constants : Exp2Constants<float> {
  static constexpr float kPoly[] = {9.582852e-3f, 5.5906426e-2f, 2.4024099e-1f, 6.9312418e-1f};
};

/// 2^n (1 + f·poly(f)), with n in the low bits of `shifted` and 2^(n + f) wanted.
template <class C, class DF, class V = hn::Vec<DF>>
HWY_INLINE V exp2_of_parts(DF d, V shifted, V f) {
  using T = hn::TFromD<DF>;
  const hn::RebindToSigned<DF> di;
  V p = hn::Set(d, C::kPoly[0]);
  for (std::size_t i = 1; i < std::size(C::kPoly); ++i) {
    p = hn::MulAdd(p, f, hn::Set(d, C::kPoly[i]));
  }
  p = hn::MulAdd(p, f, hn::Set(d, T{1}));
  // Multiplied, not added to the exponent bits: a NaN must stay one whatever its payload.
  const V power = hn::BitCast(d, hn::ShiftLeft<C::kMantissa>(hn::BitCast(di, shifted)));
  const V least = hn::Set(d, C::kMagic + C::kSmallest + T{1});
  return hn::IfThenZeroElse(hn::Lt(shifted, least), hn::Mul(p, power));
}

/// 2^t for t <= 0 (or a little above), relative error about one unit in the last place; exactly 0
/// where it would not be a normal number and for -inf, exactly 1 for 0; NaN stays NaN.
template <class DF, class V = hn::Vec<DF>>
HWY_INLINE V exp2_softmax(DF d, V t) {
  const V magic = hn::Set(d, Exp2Constants<hn::TFromD<DF>>::kMagic);
  const V shifted = hn::Add(t, magic);
  return exp2_of_parts<Exp2Constants<hn::TFromD<DF>>>(d, shifted,
                                                      hn::Sub(t, hn::Sub(shifted, magic)));
}

/// 2^(-drop · factor), the softmax's weight of a score that lies `drop` below the largest: as
/// exp2_softmax, with the product not rounded and two operations less.
template <class C, class DF, class V = hn::Vec<DF>>
HWY_INLINE V exp2_drop_as(DF d, V drop, V factor) {
  const V magic = hn::Set(d, C::kMagic);
  const V shifted = hn::NegMulAdd(drop, factor, magic);
  return exp2_of_parts<C>(d, shifted, hn::NegMulSub(drop, factor, hn::Sub(shifted, magic)));
}
template <class DF, class V = hn::Vec<DF>>
HWY_INLINE V exp2_drop(DF d, V drop, V factor) {
  return exp2_drop_as<Exp2Constants<hn::TFromD<DF>>>(d, drop, factor);
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
