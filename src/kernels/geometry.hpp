#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "heed/kernels/attention.hpp"

namespace heed::kernels {

/// One entry of the batch: its lengths, where its rows start, and which keys a query may see.
struct Entry {
  std::int64_t index;        // in the batch
  std::int64_t queries;      // rows of this entry
  std::int64_t keys;         // valid keys: after `lengths`
  std::int64_t first_query;  // of this entry on the ragged axis; 0 in a padded batch
  std::int64_t first_key;
  std::int64_t query_rows;  // length of the query axis of [B, H, Q] results
  std::int64_t key_rows;
  std::int64_t offset;       // of the diagonal
  std::int64_t left, right;  // query i sees keys i + offset - left .. i + offset + right
  bool ragged_queries, ragged_keys;

  std::int64_t begin_key(std::int64_t query) const {
    return std::clamp<std::int64_t>(query + offset - left, 0, keys);
  }
  std::int64_t end_key(std::int64_t query) const {
    return std::clamp<std::int64_t>(query + offset + right + 1, 0, keys);
  }
  /// Index of (head, query) among the rows of a [B, H, Q] result.
  std::int64_t query_row(std::int64_t heads, std::int64_t head, std::int64_t query) const {
    return (ragged_queries ? head : index * heads + head) * query_rows + first_query + query;
  }
  std::int64_t key_row(std::int64_t heads, std::int64_t head, std::int64_t key) const {
    return (ragged_keys ? head : index * heads + head) * key_rows + first_key + key;
  }
};

inline Entry make_entry(const AttentionProblem& p, std::int64_t b) {
  constexpr std::int64_t kFar = std::int64_t{1} << 60;  // unbounded, and still safe to add to
  Entry e{};
  e.index = b;
  e.ragged_queries = p.query_offsets != nullptr;
  e.ragged_keys = p.key_offsets != nullptr;
  e.first_query = e.ragged_queries ? p.query_offsets[b] : 0;
  e.first_key = e.ragged_keys ? p.key_offsets[b] : 0;
  e.queries = e.ragged_queries ? p.query_offsets[b + 1] - e.first_query : p.queries;
  e.keys = e.ragged_keys ? p.key_offsets[b + 1] - e.first_key : p.keys;
  e.query_rows = e.ragged_queries ? p.query_offsets[p.batch] : p.queries;
  e.key_rows = e.ragged_keys ? p.key_offsets[p.batch] : p.keys;
  if (p.lengths != nullptr) e.keys = std::clamp<std::int64_t>(p.lengths[b], 0, e.keys);
  e.offset =
      p.causal == Causal::bottom_right ? e.keys - e.queries : std::clamp(p.offset, -kFar, kFar);
  e.left = p.window_left < 0 ? 2 * kFar : std::min(p.window_left, 2 * kFar);
  e.right = p.window_right < 0 ? 2 * kFar : std::min(p.window_right, 2 * kFar);
  if (p.causal != Causal::none) e.right = std::min<std::int64_t>(e.right, 0);
  return e;
}

inline std::vector<Entry> make_entries(const AttentionProblem& p) {
  std::vector<Entry> entries;
  for (std::int64_t b = 0; b < p.batch; ++b) entries.push_back(make_entry(p, b));
  return entries;
}

constexpr std::int64_t kQueryBlock = 64;  // a multiple of kVectors * Lanes on every target

/// Whether an entry has so few rows for each key that the decode kernel takes it: keys in lanes
/// instead of queries. Depends on lengths and heads alone, never on the batch or the threads.
inline bool is_decode(const AttentionProblem& p, const Entry& e) {
  return p.score == Score::dot && p.align == Align::soft && e.queries <= 4 &&
         e.queries * (p.heads / p.kv_heads) <= 16;
}

/// A unit of work: up to kQueryBlock queries of one head.
struct QueryBlock {
  std::int64_t entry, head, query, count;
};

inline std::vector<QueryBlock> make_query_blocks(const AttentionProblem& p,
                                                 const std::vector<Entry>& entries) {
  std::vector<QueryBlock> blocks;
  for (const Entry& e : entries) {
    if (p.heads == 0 || is_decode(p, e)) continue;
    for (std::int64_t head = 0; head < p.heads; ++head) {
      // The last queries first: under a causal mask they have the most work.
      const std::int64_t last = (e.queries - 1) / kQueryBlock * kQueryBlock;
      for (std::int64_t query = e.queries > 0 ? last : -1; query >= 0; query -= kQueryBlock) {
        blocks.push_back({e.index, head, query, std::min(kQueryBlock, e.queries - query)});
      }
    }
  }
  return blocks;
}

/// Element offset of a row of query, out and the like.
inline std::int64_t query_element(const std::array<std::int64_t, 4>& stride, const Entry& e,
                                  std::int64_t head, std::int64_t query) {
  return (e.ragged_queries ? 0 : e.index * stride[0]) + head * stride[1] +
         (e.first_query + query) * stride[2];
}
inline std::int64_t key_element(const std::array<std::int64_t, 4>& stride, const Entry& e,
                                std::int64_t head, std::int64_t key) {
  return (e.ragged_keys ? 0 : e.index * stride[0]) + head * stride[1] +
         (e.first_key + key) * stride[2];
}
/// Element offset of (query, key) in mask, bias and weights.
inline std::int64_t pair_element(const std::array<std::int64_t, 4>& stride, const Entry& e,
                                 std::int64_t head, std::int64_t query, std::int64_t key) {
  return e.index * stride[0] + head * stride[1] + query * stride[2] + key * stride[3];
}

inline std::int64_t size_of(Type type) {
  return type == Type::float64 ? 8 : type == Type::float32 ? 4 : 2;
}

/// Multiply-adds of one product of queries and keys, an upper bound.
inline double product_work(const AttentionProblem& p, const std::vector<Entry>& entries) {
  double pairs = 0;
  for (const Entry& e : entries)
    pairs += static_cast<double>(e.queries) * static_cast<double>(e.keys);
  return pairs * static_cast<double>(p.heads) * static_cast<double>(p.width + p.value_width);
}

/// Whether the raw dot products times a positive scale are the scores: then the scale is folded
/// into the exponential and the scores are never rewritten.
inline bool has_plain_scores(const AttentionProblem& p) {
  return p.align == Align::soft && p.scale > 0 && p.softcap == 0 &&
         (p.activation == Activation::identity || p.score == Score::additive) &&
         p.row_bias.data == nullptr && p.column_bias.data == nullptr && p.bias.data == nullptr &&
         p.alibi_slopes == nullptr && p.sink == nullptr;
}

}  // namespace heed::kernels
