#include "attention/ring_passes.hpp"

#include <torch/torch.h>

namespace heed {
namespace {

// A rank's keys go round in pieces, so that the room for others' keys is small beside its own; but
// not in pieces so short that the kernel or the network would spend its time on the way.
constexpr std::int64_t kPieceBytes = 1 << 20, kLeastKeys = 512;

std::int64_t count_pieces(const RingPlan& plan, const Tensor& key, const Tensor& value) {
  const std::int64_t row = key.size(0) * key.size(1) * (key.size(3) + value.size(3)) *
                           static_cast<std::int64_t>(key.element_size());
  const std::int64_t most = std::max(kLeastKeys, kPieceBytes / std::max<std::int64_t>(row, 1));
  std::int64_t longest = 0;
  for (const RingSpans& spans : plan.shards.key_spans)
    longest = std::max(longest, spans[0].count + spans[1].count);
  return std::max<std::int64_t>((longest + most - 1) / most, 1);
}

std::int64_t longest_piece(const RingPlan& plan, std::int64_t pieces) {
  std::int64_t longest = 0;
  for (const RingSpans& all : plan.shards.key_spans) {
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const RingSpans spans = ring_piece(all, piece, pieces);
      longest = std::max(longest, spans[0].count + spans[1].count);
    }
  }
  return longest;
}

}  // namespace

RingPiece::RingPiece(const Tensor& key, const Tensor& value, std::int64_t longest,
                     torch::ScalarType type)
    : shape_{key.size(0), key.size(1), key.size(3), value.size(3)},
      room_(torch::empty({shape_[0] * shape_[1] * longest * (shape_[2] + shape_[3])}, type)) {}

void RingPiece::resize(std::int64_t count) {
  const auto [B, G, D, V] = shape_;
  const std::int64_t keys = B * G * count * D, values = B * G * count * V;
  all_ = room_.narrow(0, 0, keys + values);
  key_ = room_.narrow(0, 0, keys).view({B, G, count, D});
  value_ = room_.narrow(0, keys, values).view({B, G, count, V});
}

RingPasses::RingPasses(const RingPlan& plan, const Tensor& key, const Tensor& value)
    : plan_(plan),
      key_(key),
      value_(value),
      rank_(plan.shards.rank()),
      size_(plan.shards.size()),
      pieces_(count_pieces(plan, key, value)),
      longest_(longest_piece(plan, pieces_)),
      at_hand_(key, value, longest_, key.scalar_type()),
      coming_(key, value, longest_, key.scalar_type()) {}

RingSpans RingPasses::spans(int owner, std::int64_t piece) const {
  return ring_piece(plan_.shards.key_spans[static_cast<std::size_t>(owner)], piece, pieces_);
}

std::int64_t RingPasses::count(int owner, std::int64_t piece) const {
  const RingSpans held = spans(owner, piece);
  return held[0].count + held[1].count;
}

void RingPasses::go_round(std::int64_t piece, const Visit& visit) {
  const RingSpans all = plan_.shards.key_spans[static_cast<std::size_t>(rank_)];
  const RingSpans own = spans(rank_, piece);
  at_hand_.resize(count(rank_, piece));
  std::int64_t column = 0, skipped = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::int64_t row = skipped + own[i].first - all[i].first;
    at_hand_.key().narrow(2, column, own[i].count).copy_(key_.narrow(2, row, own[i].count));
    at_hand_.value().narrow(2, column, own[i].count).copy_(value_.narrow(2, row, own[i].count));
    column += own[i].count, skipped += all[i].count;
  }
  for (int pass = 0; pass < size_; ++pass) {
    std::unique_ptr<dist::Work> sending;
    if (pass + 1 < size_) {
      coming_.resize(count(owner(pass + 1), piece));
      sending = plan_.shards.group->exchange(at_hand_.bytes(), next(), coming_.bytes(), last());
    }
    visit(pass, at_hand_, spans(owner(pass), piece), [&] {
      if (sending) sending->done();
    });
    if (sending) sending->wait();
    std::swap(at_hand_, coming_);
  }
}

}  // namespace heed
