#pragma once
#include <cmath>

#include "heed/kernels/attention.hpp"

namespace heed::kernels {

template <class T>
T activate(Activation kind, T x) {
  switch (kind) {
    case Activation::identity:
      return x;
    case Activation::tanh:
      return std::tanh(x);
    case Activation::relu:
      return x > T{0} || x != x ? x : T{0};
    case Activation::gelu:
      return x * T{0.5} * (T{1} + std::erf(x * static_cast<T>(0.70710678118654752440)));
    case Activation::sigmoid:
      return T{1} / (T{1} + std::exp(-x));
  }
  return x;
}

/// The derivative; that of relu at 0 is 0.
template <class T>
T activation_slope(Activation kind, T x) {
  switch (kind) {
    case Activation::identity:
      return T{1};
    case Activation::tanh: {
      const T y = std::tanh(x);
      return T{1} - y * y;
    }
    case Activation::relu:
      return x > T{0} ? T{1} : T{0};
    case Activation::gelu:
      return T{0.5} * (T{1} + std::erf(x * static_cast<T>(0.70710678118654752440))) +
             x * static_cast<T>(0.39894228040143267794) * std::exp(x * x * T{-0.5});
    case Activation::sigmoid: {
      const T y = T{1} / (T{1} + std::exp(-x));
      return y * (T{1} - y);
    }
  }
  return T{1};
}

}  // namespace heed::kernels
