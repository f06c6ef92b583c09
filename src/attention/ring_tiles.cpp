// How the work of a pass is cut: places decide which pairs may meet, so a tile is a run of queries
// and a run of keys whose diagonal has one offset.
#include "attention/ring.hpp"

namespace heed {
namespace {

// So many calls of the kernel for each piece of keys, between which messages are driven on; but
// none with less rows than keep the kernel busy, nor with so many that its results take much room.
constexpr std::int64_t kCalls = 8, kLeastRows = 256, kMostRows = 2048;

/// A run of entries whose diagonals have the same offset in the whole sequence.
struct Diagonal {
  std::int64_t entry, entries, offset;
  std::int64_t keys;  // the longest valid length among them
};

std::vector<Diagonal> diagonals(const RingPlan& plan) {
  const Visibility& see = plan.kernel->visibility;
  const bool ragged = see.lengths.defined();
  if (see.causal.corner == Causal::Corner::bottom_right && ragged) {
    std::vector<Diagonal> each;
    const std::int64_t* lengths = see.lengths.const_data_ptr<std::int64_t>();
    for (std::int64_t b = 0; b < see.B; ++b) each.push_back({b, 1, lengths[b] - see.Q, lengths[b]});
    return each;
  }
  std::int64_t offset = 0;
  if (see.causal.corner == Causal::Corner::bottom_right) offset = see.K - see.Q;
  if (see.causal.corner == Causal::Corner::offset) offset = see.causal.offset;
  const bool some = ragged && see.B > 0;
  return {{0, see.B, offset, some ? see.lengths.max().item<std::int64_t>() : see.K}};
}

/// Whether a query of the first run may see a key of the second.
bool may_meet(const Visibility& see, RingSpan queries, RingSpan keys, const Diagonal& diagonal) {
  if (queries.count == 0 || keys.count == 0 || keys.first >= diagonal.keys) return false;
  const std::int64_t first = queries.first + diagonal.offset, last = first + queries.count - 1;
  const bool causal = see.causal.corner != Causal::Corner::none;
  if (causal && last < keys.first) return false;
  if (!see.window) return true;
  const auto [left, right] = *see.window;
  return (left < 0 || first - left < keys.first + keys.count) &&
         (right < 0 || last + right >= keys.first);
}

}  // namespace

RingSpans ring_piece(const RingSpans& spans, std::int64_t piece, std::int64_t pieces) {
  RingSpans result;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const std::int64_t from = spans[i].count * piece / pieces;
    result[i] = {spans[i].first + from, spans[i].count * (piece + 1) / pieces - from};
  }
  return result;
}

std::vector<RingTile> ring_tiles(const RingPlan& plan, const RingSpans& keys) {
  const Visibility& see = plan.kernel->visibility;
  const RingSpans& mine = plan.shards.my_queries();
  const std::int64_t all = mine[0].count + mine[1].count;
  const std::int64_t most = std::clamp((all / kCalls + 63) / 64 * 64, kLeastRows, kMostRows);
  std::vector<RingTile> tiles;
  for (const Diagonal& diagonal : diagonals(plan)) {
    std::int64_t row = 0;
    for (const RingSpan& span : mine) {
      for (std::int64_t at = 0; at < span.count; at += most) {
        const RingSpan queries{span.first + at, std::min(most, span.count - at)};
        std::int64_t column = 0;
        for (const RingSpan& run : keys) {
          if (may_meet(see, queries, run, diagonal)) {
            tiles.push_back({.entry = diagonal.entry,
                             .entries = diagonal.entries,
                             .row = row + at,
                             .rows = queries.count,
                             .column = column,
                             .columns = run.count,
                             .offset = queries.first + diagonal.offset - run.first,
                             .first_key = run.first});
          }
          column += run.count;
        }
      }
      row += span.count;
    }
  }
  return tiles;
}

}  // namespace heed
