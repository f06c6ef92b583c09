#pragma once
#include <memory>

#include "attention/fused.hpp"
#include "heed/attention/ring.hpp"

namespace heed {

/// What each rank holds of the queries and of the keys.
struct RingShards {
  dist::Group* group = nullptr;
  std::int64_t queries = 0, keys = 0;             // of the whole sequence
  std::vector<RingSpans> query_spans, key_spans;  // by rank

  int rank() const { return group->rank(); }
  int size() const { return group->size(); }
  const RingSpans& my_queries() const { return query_spans[static_cast<std::size_t>(rank())]; }
};

/// Agrees with all ranks on what they call with; InputError, at every rank, where they differ or
/// hold what `ring_split` does not give. Tensors of rank 4.
RingShards agree_on_shards(const AttendOptions& options, const Tensor& query, const Tensor& key,
                           const Tensor& value);

/// Attention over the group of `shards`. `call.visibility` has the sizes of the whole sequence.
AttendResult attend_ring(const CheckedCall& call, const RingShards& shards);

/// What the ring's passes need beside the tensors.
struct RingPlan {
  RingShards shards;
  std::shared_ptr<FusedPlan> kernel;
  bool trains = false;
};

/// Some of this rank's queries against some of the keys at hand: one call of the kernel.
struct RingTile {
  std::int64_t entry, entries;   // of the batch
  std::int64_t row, rows;        // of the rank's queries
  std::int64_t column, columns;  // of the keys at hand
  std::int64_t offset;           // of the diagonal, counted from `row` and `column`
  std::int64_t first_key;        // position of `column`
};

/// Output [B, H, Q, d_v] and log-sum-exp [B, H, Q], both of this rank's queries.
std::array<Tensor, 2> run_ring(const Tensor& query, const Tensor& key, const Tensor& value,
                               std::shared_ptr<const RingPlan> plan);

/// Which spans of a rank's keys are in piece `piece` of `pieces`: the same share of both.
RingSpans ring_piece(const RingSpans& spans, std::int64_t piece, std::int64_t pieces);

/// The tiles of this rank's queries and a piece of keys, without those where no pair takes part.
std::vector<RingTile> ring_tiles(const RingPlan& plan, const RingSpans& keys);

/// The memory of a contiguous tensor, as groups send it.
inline std::span<std::byte> bytes_of(const Tensor& x) {
  return {static_cast<std::byte*>(x.mutable_data_ptr()), x.nbytes()};
}

}  // namespace heed
