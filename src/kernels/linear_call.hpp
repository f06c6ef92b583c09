#pragma once
#include <algorithm>
#include <cstdint>

#include "heed/kernels/linear.hpp"
#include "kernels/parallel.hpp"

namespace heed::kernels {

// Columns of the state are independent of each other, so a unit of work has at most this many. The
// number is fixed: the gradients to queries and keys are sums over slices, and their bits must not
// depend on the machine's threads. Fewer would do the work on pairs of steps more often: with 64,
// V = 128 took half as long again.
constexpr std::int64_t kLinearSlice = 128;

inline std::int64_t slice_count(const LinearProblem& p) {
  return (p.value_width + kLinearSlice - 1) / kLinearSlice;
}

/// Steps taken together. A decay for each row of the state costs D for each pair of steps and is
/// better off with few; otherwise pairs are matrix products.
inline std::int64_t chunk_length(const LinearProblem& p) {
  const bool wide_decay = has_decay(p.rule) && p.decay_width > 1;
  return std::min<std::int64_t>(wide_decay ? 16 : 32, std::max<std::int64_t>(p.length, 1));
}

/// A unit of work: some columns of the state of one key/value head.
struct LinearUnit {
  std::int64_t entry, kv_head, slice, column, columns;
};

inline std::int64_t unit_count(const LinearProblem& p) {
  return p.batch * p.kv_heads * slice_count(p);
}

inline LinearUnit unit_of(const LinearProblem& p, std::int64_t item) {
  const std::int64_t slices = slice_count(p), slice = item % slices, head = item / slices;
  const std::int64_t column = slice * kLinearSlice;
  return {head / p.kv_heads, head % p.kv_heads, slice, column,
          std::min(kLinearSlice, p.value_width - column)};
}

/// Multiply-adds of a forward pass, roughly.
inline double linear_work(const LinearProblem& p) {
  const double products = 2 + static_cast<double>(p.heads) / static_cast<double>(p.kv_heads);
  return products * static_cast<double>(p.batch * p.kv_heads * p.length) *
         static_cast<double>(p.width * p.value_width);
}

/// Element of a row of a [B, heads, L, width] tensor.
inline std::int64_t row_element(const std::array<std::int64_t, 4>& stride, std::int64_t entry,
                                std::int64_t head, std::int64_t row) {
  return entry * stride[0] + head * stride[1] + row * stride[2];
}

/// Throws std::invalid_argument, naming the field, for a problem that has no meaning.
void check_linear(const LinearProblem& problem);

}  // namespace heed::kernels
