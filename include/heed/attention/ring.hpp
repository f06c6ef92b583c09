#pragma once
#include <array>

#include "heed/attention/tensor.hpp"
#include "heed/dist/group.hpp"

/// One long sequence over several processes (docs/ring.md): `AttendOptions::group` says that query,
/// key and value are this rank's part of it, as `ring_split` gives it. Keys and values go round the
/// ranks, and what a rank has seen is merged exactly, so that each holds O(length / ranks) of
/// everything, gradients included. All ranks make the same calls in the same order.
namespace heed {

/// Positions first .. first + count of the whole sequence.
struct RingSpan {
  std::int64_t first = 0, count = 0;
};
/// What a rank holds, in this order. Of 2 N chunks, rank r has the r-th from the start and the r-th
/// from the end: under a causal mask all ranks then have the same work.
using RingSpans = std::array<RingSpan, 2>;

/// Any length, also one that does not divide by the ranks, or is shorter than their number.
RingSpans ring_spans(std::int64_t length, int rank, int ranks);

/// The positions that this rank holds, [n] of int64: for what depends on them, such as rotary
/// encodings.
Tensor ring_positions(std::int64_t length, const dist::Group& group);

/// This rank's part of a whole tensor along `dim`; differentiable.
Tensor ring_split(const Tensor& whole, std::int64_t dim, const dist::Group& group);

/// The whole from every rank's part, at every rank; without a gradient: losses are made of parts.
Tensor ring_join(const Tensor& part, std::int64_t dim, dist::Group& group);

}  // namespace heed
