#pragma once
#include <array>
#include <optional>

#include "heed/attention/tensor.hpp"
#include "heed/kernels/attention.hpp"

namespace heed {

/// Tensors as the kernels take them.

inline std::optional<kernels::Type> kernel_type(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat32:
      return kernels::Type::float32;
    case torch::kFloat64:
      return kernels::Type::float64;
    case torch::kBFloat16:
      return kernels::Type::bfloat16;
    case torch::kFloat16:
      return kernels::Type::float16;
    default:
      return std::nullopt;
  }
}

inline torch::ScalarType working_type(torch::ScalarType type) {
  return type == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

/// Strides of a rank-4 tensor; 0 along an axis of size 1, which the kernel broadcasts.
inline std::array<std::int64_t, 4> kernel_strides(const Tensor& x) {
  std::array<std::int64_t, 4> result{};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    result[i] = x.size(axis) == 1 ? 0 : x.stride(axis);
  }
  return result;
}

inline kernels::Input kernel_input(const Tensor& x) {
  return x.defined() ? kernels::Input{x.const_data_ptr(), kernel_strides(x)} : kernels::Input{};
}

inline kernels::Output kernel_output(Tensor& x) {
  return x.defined() ? kernels::Output{x.mutable_data_ptr(), kernel_strides(x)} : kernels::Output{};
}

}  // namespace heed
