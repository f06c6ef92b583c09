// The matrix product of projections and of the unfused kernel: rows of a are read one broadcast
// element at a time, b is packed once a matrix, or, where it is deep, as a block of it is needed.
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

constexpr std::int64_t kColumnBlock = 256;  // of c in a unit of work: whole vectors everywhere
constexpr std::int64_t kRowBlock = 48;      // and its rows
// Beyond some depth b is too large to be kept near: it is packed by blocks, for more rows each
// time.
constexpr std::int64_t kDeep = 512, kDeepRowBlock = 96, kDepthBlock = 256;

struct MatrixBlocks {
  bool deep;
  std::int64_t rows, depth;   // of a block
  std::int64_t down, across;  // blocks of c

  explicit MatrixBlocks(const MatrixProblem& p)
      : deep(p.depth > kDeep),
        rows(deep ? kDeepRowBlock : kRowBlock),
        depth(deep ? kDepthBlock : p.depth),
        down((p.rows + rows - 1) / rows),
        across((p.columns + kColumnBlock - 1) / kColumnBlock) {}
};

struct MatrixCall {
  const MatrixProblem& problem;
  const MatrixBlocks& blocks;
  WorkQueue& queue;
};

}  // namespace heed::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct MatrixScratch {
  explicit MatrixScratch(const MatrixBlocks& blocks)
      : a(memory.take(blocks.rows * blocks.depth)),
        b(memory.take(kColumnBlock * blocks.depth)),
        c(memory.take(blocks.rows * kColumnBlock)) {}

  Scratch<T> memory;
  T* a;
  T* b;  // [depth][columns of the block, padded]
  T* c;
  std::int64_t packed = -1;  // which block of which matrix is in b
};

/// Rows of a from `element` on, where they lie if they are of type T: any stride serves a
/// broadcast.
template <class T>
Broadcast<T> rows_of(const MatrixProblem& p, std::int64_t element, std::int64_t count,
                     std::int64_t depth, T* scratch) {
  if (p.type == (sizeof(T) == 8 ? Type::float64 : Type::float32)) {
    return {static_cast<const T*>(p.a) + element, p.a_stride[1], p.a_stride[2]};
  }
  copy_rows(p.a, p.type, element, p.a_stride[1], p.a_stride[2], count, depth, scratch, depth);
  return {scratch, depth, 1};
}

/// Adds to x.c, [rows, wide], what depths [from, from + depth) give; the first of them set it.
template <class T>
void add_depths(const MatrixProblem& p, MatrixScratch<T>& x, std::int64_t a_element,
                std::int64_t rows, std::int64_t wide, std::int64_t from, std::int64_t depth) {
  const hn::ScalableTag<T> d;
  const Broadcast<T> a = rows_of(p, a_element + from * p.a_stride[2], rows, depth, x.a);
  T* to = x.c;
  const auto multiply = [&](auto store) { product(rows, a, x.b, wide, depth, wide, store); };
  if (from == 0) {
    multiply([=](std::int64_t r, std::int64_t c, auto sum)
                 HWY_ATTR { hn::Store(sum, d, to + r * wide + c); });
  } else {
    multiply([=](std::int64_t r, std::int64_t c, auto sum) HWY_ATTR {
      hn::Store(hn::Add(hn::Load(d, to + r * wide + c), sum), d, to + r * wide + c);
    });
  }
}

template <class T>
void matrix_worker(const MatrixCall& call) {
  const MatrixProblem& p = call.problem;
  const MatrixBlocks& blocks = call.blocks;
  MatrixScratch<T> x(blocks);
  std::int64_t item;
  while (call.queue.next(item)) {
    const std::int64_t matrix = item / (blocks.across * blocks.down);
    const std::int64_t block = item / blocks.down % blocks.across;
    const std::int64_t row = item % blocks.down * blocks.rows, column = block * kColumnBlock;
    const std::int64_t rows = std::min(blocks.rows, p.rows - row);
    const std::int64_t columns = std::min(kColumnBlock, p.columns - column);
    const std::int64_t wide = padded<T>(columns), whole = matrix * blocks.across + block;
    const std::int64_t a_element = matrix * p.a_stride[0] + row * p.a_stride[1];
    const std::int64_t b_element = matrix * p.b_stride[0] + column * p.b_stride[2];
    std::int64_t from = 0;
    do {  // once where there is no depth, for zeros
      const std::int64_t depth = std::min(blocks.depth, p.depth - from);
      if (blocks.deep || x.packed != whole) {
        copy_rows(p.b, p.type, b_element + from * p.b_stride[1], p.b_stride[1], p.b_stride[2],
                  depth, columns, x.b, wide);
        x.packed = whole;
      }
      add_depths(p, x, a_element, rows, wide, from, depth);
      from += depth;
    } while (from < p.depth);
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
  const MatrixBlocks blocks(p);
  WorkQueue queue(p.matrices * blocks.across * blocks.down);
  const MatrixCall call{p, blocks, queue};
  const double work = static_cast<double>(p.matrices) * static_cast<double>(p.rows) *
                      static_cast<double>(p.columns) * static_cast<double>(p.depth);
  run_workers(queue.count(), work, [&] { HWY_DYNAMIC_DISPATCH(matrix_impl)(call); });
}

}  // namespace heed::kernels
#endif
