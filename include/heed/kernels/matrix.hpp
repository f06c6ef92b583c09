#pragma once
#include <array>
#include <cstdint>

#include "heed/kernels/attention.hpp"

namespace heed::kernels {

/// Products of matrices: c[n] = a[n] · b[n]. Strides count elements and are ordered (matrix, row,
/// column); they may be zero or negative.
struct MatrixProblem {
  Type type = Type::float32;
  std::int64_t matrices = 1, rows = 0, columns = 0, depth = 0;
  const void* a = nullptr;  // [matrices, rows, depth]
  std::array<std::int64_t, 3> a_stride{};
  const void* b = nullptr;  // [matrices, depth, columns]
  std::array<std::int64_t, 3> b_stride{};
  void* c = nullptr;  // [matrices, rows, columns]
  std::array<std::int64_t, 3> c_stride{};
};

/// Each element is one chain of multiply-adds in the order of the depth, in the working type: its
/// bits depend on its row and its column alone, not on threads, sizes or the other rows.
void matrix_product(const MatrixProblem& problem);

}  // namespace heed::kernels
