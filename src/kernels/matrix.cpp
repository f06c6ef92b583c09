// The matrix product of projections and of the unfused kernel: rows of a are read one broadcast
// element at a time, b is packed once a matrix.
#include "heed/kernels/matrix.hpp"

#include <stdexcept>
#include <vector>

#include "kernels/geometry.hpp"
#include "kernels/parallel.hpp"
#include "kernels/scratch.hpp"
#include "kernels/simd_internal.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matrix.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/pack-inl.hpp"
#include "kernels/scores-inl.hpp"
#include "kernels/tile-inl.hpp"

#ifndef HEED_KERNELS_MATRIX_ONCE
#define HEED_KERNELS_MATRIX_ONCE
namespace heed::kernels {

constexpr std::int64_t kRowBlock = 48;      // rows of c in a unit of work
constexpr std::int64_t kColumnBlock = 256;  // and its columns: whole vectors on every target

struct MatrixCall {
  const MatrixProblem& problem;
  WorkQueue& queue;
};

}  // namespace heed::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct MatrixScratch {
  explicit MatrixScratch(const MatrixProblem& p)
      : a(memory.take(kRowBlock * p.depth)),
        b(memory.take(kColumnBlock * p.depth)),
        c(memory.take(kRowBlock * kColumnBlock)) {}

  Scratch<T> memory;
  T* a;
  T* b;  // [depth][columns of the block, padded]
  T* c;
  std::int64_t packed = -1;  // which block of which matrix is in b
};

/// Rows of a, where they lie if they are of type T: any stride serves a broadcast.
template <class T>
Broadcast<T> rows_of(const MatrixProblem& p, std::int64_t matrix, std::int64_t row,
                     std::int64_t count, T* scratch) {
  const std::int64_t element = matrix * p.a_stride[0] + row * p.a_stride[1];
  if (p.type == (sizeof(T) == 8 ? Type::float64 : Type::float32)) {
    return {static_cast<const T*>(p.a) + element, p.a_stride[1], p.a_stride[2]};
  }
  copy_rows(p.a, p.type, element, p.a_stride[1], p.a_stride[2], count, p.depth, scratch, p.depth);
  return {scratch, p.depth, 1};
}

template <class T>
void matrix_worker(const MatrixCall& call) {
  const MatrixProblem& p = call.problem;
  const hn::ScalableTag<T> d;
  const std::int64_t across = (p.columns + kColumnBlock - 1) / kColumnBlock;
  const std::int64_t down = (p.rows + kRowBlock - 1) / kRowBlock;
  MatrixScratch<T> x(p);
  std::int64_t item;
  while (call.queue.next(item)) {
    const std::int64_t matrix = item / (across * down), block = item / down % across;
    const std::int64_t row = item % down * kRowBlock, column = block * kColumnBlock;
    const std::int64_t rows = std::min(kRowBlock, p.rows - row);
    const std::int64_t columns = std::min(kColumnBlock, p.columns - column);
    const std::int64_t wide = padded<T>(columns);
    if (x.packed != matrix * across + block) {
      const std::int64_t element = matrix * p.b_stride[0] + column * p.b_stride[2];
      copy_rows(p.b, p.type, element, p.b_stride[1], p.b_stride[2], p.depth, columns, x.b, wide);
      x.packed = matrix * across + block;
    }
    const Broadcast<T> a = rows_of(p, matrix, row, rows, x.a);
    T* to = x.c;
    product(rows, a, x.b, wide, p.depth, wide,
            [=](std::int64_t r, std::int64_t c, auto sum)
                HWY_ATTR { hn::Store(sum, d, to + r * wide + c); });
    const Output out{p.c, {0, 0, p.c_stride[1], p.c_stride[2]}};
    for (std::int64_t r = 0; r < rows; ++r) {
      store_row(x.c + r * wide, columns, out, p.type,
                matrix * p.c_stride[0] + (row + r) * p.c_stride[1] + column * p.c_stride[2]);
    }
  }
}

void matrix_impl(const MatrixCall& call) {
  if (call.problem.type == Type::float64) {
    matrix_worker<double>(call);
  } else {
    matrix_worker<float>(call);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(matrix_impl);

void matrix_product(const MatrixProblem& p) {
  if (p.matrices < 0 || p.rows < 0 || p.columns < 0 || p.depth < 0) {
    throw std::invalid_argument("matrix_product: a size is below 0");
  }
  apply_simd_environment();
  const std::int64_t across = (p.columns + kColumnBlock - 1) / kColumnBlock;
  const std::int64_t down = (p.rows + kRowBlock - 1) / kRowBlock;
  WorkQueue queue(p.matrices * across * down);
  const MatrixCall call{p, queue};
  const double work = static_cast<double>(p.matrices) * static_cast<double>(p.rows) *
                      static_cast<double>(p.columns) * static_cast<double>(p.depth);
  run_workers(queue.count(), work, [&] { HWY_DYNAMIC_DISPATCH(matrix_impl)(call); });
}

}  // namespace heed::kernels
#endif
