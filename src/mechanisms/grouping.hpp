#pragma once
#include "heed/attention/trace.hpp"

namespace heed {

/// One level of a hierarchy: every segment of `below` becomes an entry of a batch of its own.
class Grouping {
 public:
  /// InputError if the segments do not cover the input exactly.
  Grouping(Input below, const Segments& segments);

  std::int64_t segments() const { return sizes_.size(1); }
  /// The segments as entries, [B·S, M, D] with their sizes as lengths.
  Input entries() const;
  /// A vector for each batch entry, for each of its segments: [B, D] → [B·S, D].
  Tensor repeat(const Tensor& x) const;
  /// A vector for each segment as the level above, [B·S, D] → [B, S, D].
  Input above(const Tensor& contexts) const;
  /// From outside the weights are [B, H, S, N]: a row a segment, 0 outside it.
  TraceView view() const;

 private:
  Input below_;
  Tensor lengths_;  // [B] segments of each entry; may be undefined
  Tensor sizes_;    // [B, S]; 0 past the lengths
  Tensor index_;    // [B, S, M] where each position of a segment is below
  Tensor valid_;    // [B, S, M]
};

}  // namespace heed
