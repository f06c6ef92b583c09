#pragma once
#ifdef __linux__
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace heed::kernels {

/// Blocks of memory that a thread keeps for its next call: fresh pages from the system cost more
/// than what a small problem computes in them.
class BlockStore {
 public:
  struct Free {
    void operator()(void* block) const { std::free(block); }  // NOLINT: from aligned_alloc
  };
  struct Block {
    std::unique_ptr<void, Free> at;
    std::size_t bytes = 0;
  };

  static BlockStore& of_this_thread() {
    thread_local BlockStore store;
    return store;
  }

  /// At least `bytes`; the smallest kept block that is not more than twice too large, or a new one.
  Block take(std::size_t bytes) {
    auto best = blocks_.end();
    for (auto b = blocks_.begin(); b != blocks_.end(); ++b) {
      if (b->bytes < bytes || b->bytes / 2 > bytes) continue;
      if (best == blocks_.end() || b->bytes < best->bytes) best = b;
    }
    if (best == blocks_.end()) return fresh(bytes);
    Block found = std::move(*best);
    blocks_.erase(best);
    kept_ -= found.bytes;
    return found;
  }

  void give_back(Block block) {
    if (block.bytes > kMost) return;
    kept_ += block.bytes;
    blocks_.push_back(std::move(block));
    while (kept_ > kMost) {  // the oldest go first
      kept_ -= blocks_.front().bytes;
      blocks_.erase(blocks_.begin());
    }
  }

 private:
  static constexpr std::size_t kMost = std::size_t{16} << 20;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  static Block fresh(std::size_t bytes) {
    // Rows are read in any order: large pages spare most of the look-ups of addresses.
    const bool large = bytes >= 2 * kHugePage;
    const std::size_t unit = large ? kHugePage : 256;
    const std::size_t size = (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
    void* at = std::aligned_alloc(unit, size);
    if (at == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (large) madvise(at, size, MADV_HUGEPAGE);  // a hint: it may fail
#endif
    return {std::unique_ptr<void, Free>(at), size};
  }

  std::vector<Block> blocks_;
  std::size_t kept_ = 0;
};

/// As Scratch, from and back to the store of the thread that made it.
template <class T>
class KeptScratch {
 public:
  KeptScratch() = default;
  KeptScratch(const KeptScratch&) = delete;
  KeptScratch& operator=(const KeptScratch&) = delete;
  ~KeptScratch() {
    for (auto& block : blocks_) BlockStore::of_this_thread().give_back(std::move(block));
  }

  /// `size` elements, uninitialised, aligned for any vector.
  T* take(std::int64_t size) {
    blocks_.push_back(
        BlockStore::of_this_thread().take(static_cast<std::size_t>(size) * sizeof(T)));
    return static_cast<T*>(blocks_.back().at.get());
  }

 private:
  std::vector<BlockStore::Block> blocks_;
};

}  // namespace heed::kernels
