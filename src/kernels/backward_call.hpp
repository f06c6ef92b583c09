#pragma once
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "heed/kernels/attention.hpp"
#include "kernels/geometry.hpp"
#include "kernels/parallel.hpp"

namespace heed::kernels {

constexpr std::int64_t kChunk = 192;  // keys whose gradients one unit of work gathers

/// A unit of backward work: a chunk of keys of one key/value head.
struct KeyChunk {
  std::int64_t entry, kv_head, key, count;
  bool first, last;  // of its head
};

inline std::vector<KeyChunk> make_key_chunks(const AttentionProblem& p,
                                             const std::vector<Entry>& entries) {
  std::vector<KeyChunk> chunks;
  for (const Entry& e : entries) {
    for (std::int64_t head = 0; head < p.kv_heads; ++head) {
      std::int64_t key = 0;
      do {  // one chunk even without keys: somebody has to write the zeros
        const std::int64_t count = std::min(kChunk, e.keys - key);
        chunks.push_back({e.index, head, key, count, key == 0, key + count >= e.keys});
        key += count;
      } while (key < e.keys);
    }
  }
  return chunks;
}

/// Lets the chunks of a head add to the same query gradients in the order of their keys, whatever
/// thread has them: chunk c takes step s when chunk c - 1 is past it. Chunks are handed out in
/// order, so the one before has always been started and nobody waits for ever.
class Turns {
 public:
  explicit Turns(std::size_t chunks) : past_(chunks) {}
  void wait(std::int64_t chunk, std::int64_t step) const {
    while (past_[static_cast<std::size_t>(chunk)].load(std::memory_order_acquire) <= step) {
      std::this_thread::yield();
    }
  }
  void pass(std::int64_t chunk, std::int64_t step) {
    past_[static_cast<std::size_t>(chunk)].store(step + 1, std::memory_order_release);
  }

 private:
  std::vector<std::atomic<std::int64_t>> past_;
};

struct BackwardCall {
  const AttentionProblem& problem;
  const BackwardInputs& inputs;
  const BackwardResult& result;
  const std::vector<Entry>& entries;
  const std::vector<KeyChunk>& chunks;
  const std::vector<std::uint8_t>& pairs;  // by entry: its products take bfloat16 as it is
  void* query_sums;   // [B, H, Q, D] working type where the gradient itself cannot hold the sums
  void* weight_sums;  // [chunks, H, D] working type, when the gradient of w is wanted; else null
  WorkQueue& queue;
  Turns& turns;
};

/// Gradient of the additive bias, summed over the axes where its stride is 0.
void bias_gradient(const AttentionProblem& problem, const BackwardInputs& inputs,
                   const Output& result, const std::vector<Entry>& entries);

/// Gradients of the sink logits, of alpha and of the centers, where they are wanted.
void row_gradients(const AttentionProblem& problem, const BackwardInputs& inputs,
                   const BackwardResult& result, const std::vector<Entry>& entries);

}  // namespace heed::kernels
