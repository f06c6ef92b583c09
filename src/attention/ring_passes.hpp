#pragma once
#include <functional>

#include "attention/ring.hpp"

namespace heed {

/// A piece of some rank's keys and values, or of their gradients, in one run of memory: what is
/// sent. Two of them are all that a rank holds of others' keys.
class RingPiece {
 public:
  /// Room for the longest piece of any rank.
  RingPiece(const Tensor& key, const Tensor& value, std::int64_t longest, torch::ScalarType type);

  /// From here on it holds `count` keys.
  void resize(std::int64_t count);
  Tensor key() const { return key_; }      // [B, G, count, d_k]
  Tensor value() const { return value_; }  // [B, G, count, d_v]
  Tensor all() const { return all_; }      // the two, flat
  std::span<std::byte> bytes() const { return bytes_of(all_); }

 private:
  std::array<std::int64_t, 4> shape_;  // B, G, d_k, d_v
  Tensor room_, all_, key_, value_;
};

/// How often the ring is gone round, and with what.
class RingPasses {
 public:
  RingPasses(const RingPlan& plan, const Tensor& key, const Tensor& value);

  std::int64_t pieces() const { return pieces_; }
  /// The most keys that a piece of any rank has.
  std::int64_t longest() const { return longest_; }
  int next() const { return (rank_ + 1) % size_; }
  int last() const { return (rank_ + size_ - 1) % size_; }
  /// Whose keys are at hand in a pass.
  int owner(int pass) const { return (rank_ + size_ - pass) % size_; }
  RingSpans spans(int owner, std::int64_t piece) const;
  std::int64_t count(int owner, std::int64_t piece) const;

  /// Calls `visit(pass, piece of keys, its spans, drive)` for all ranks' parts of piece `piece`,
  /// its own first. The next keys come while `visit` computes; it calls `drive` now and then.
  using Visit = std::function<void(int pass, const RingPiece& at_hand, const RingSpans& spans,
                                   const std::function<void()>& drive)>;
  void go_round(std::int64_t piece, const Visit& visit);

 private:
  const RingPlan& plan_;
  const Tensor &key_, &value_;
  int rank_, size_;
  std::int64_t pieces_, longest_;
  RingPiece at_hand_, coming_;
};

}  // namespace heed
