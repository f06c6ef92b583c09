#pragma once
#include <optional>
#include <vector>

#include "heed/attention/tensor.hpp"

namespace heed {

struct KVCacheOptions {
  std::int64_t batch = 0, heads = 0;  // heads: of keys and values
  std::int64_t key_dim = 0, value_dim = 0;
  torch::TensorOptions tensors = torch::kFloat32;  // type and device
  std::int64_t room = 64;                          // slots at the start; it doubles when full
  std::optional<std::int64_t> capacity;            // keys an entry may hold; none: no limit
  std::optional<std::int64_t> window;              // latest keys a query sees, its own included
};

/// The keys and values of the tokens so far, for decoding a step at a time.
///
/// Entry b holds `lengths()[b]` keys in its first slots; slot j has position `offsets()[b] + j`.
/// Attend to `keys()` and `values()` with `Causal::bottom_right()` and `lengths()`.
///
/// With a window W add `.window = {W − 1, −1}`: the cache drops keys that no query to come can see,
/// and `offsets()` tells how many, but only when it is full. It has room for 2 W, so that the W − 1
/// which stay are moved once in as many appends.
class KVCache {
 public:
  explicit KVCache(const KVCacheOptions& options);

  /// key [B, H_kv, n, d_k], value [B, H_kv, n, d_v]. `counts` [B]: only the first of each entry are
  /// tokens, the rest is padding, written behind them but not counted; undefined: all n. Neither
  /// may need a gradient.
  void append(const Tensor& key, const Tensor& value, const Tensor& counts = {});

  /// Back to `positions` [B] tokens of each entry, as many as there are or fewer.
  void truncate(const Tensor& positions);

  /// Entry b becomes what entry `index[b]` was; another batch size is legal (beam search).
  void reorder(const Tensor& index);

  /// Views [B, H_kv, slots, d], valid until the next change. Slots reach to the longest entry, or
  /// to the end of the padding that the last append brought.
  Tensor keys() const { return keys_.narrow(2, 0, slots_); }
  Tensor values() const { return values_.narrow(2, 0, slots_); }

  Tensor lengths() const;                           // [B]: keys held
  Tensor offsets() const;                           // [B]: the position of slot 0
  Tensor positions() const;                         // [B, slots]: of each slot
  Tensor next_positions(std::int64_t count) const;  // [B, count]: of the tokens to come

  std::optional<std::int64_t> window() const { return options_.window; }

 private:
  std::int64_t batch() const { return keys_.size(0); }
  std::int64_t longest() const;
  void check(const Tensor& x, const Tensor& storage, const char* name) const;
  std::vector<std::int64_t> numbers(const Tensor& x, const char* what) const;
  void make_room(std::int64_t count);

  KVCacheOptions options_;
  Tensor keys_, values_;  // [B, H_kv, room, d]
  std::int64_t slots_ = 0;
  std::vector<std::int64_t> lengths_, offsets_;
};

}  // namespace heed
