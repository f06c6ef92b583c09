#pragma once
#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heed::kernels {

/// Aligned arrays of one thread, freed together.
template <class T>
class Scratch {
 public:
  /// `size` elements, uninitialised, aligned for any vector.
  T* take(std::int64_t size) {
    arrays_.push_back(hwy::AllocateAligned<T>(static_cast<std::size_t>(size > 0 ? size : 1)));
    return arrays_.back().get();
  }

 private:
  std::vector<hwy::AlignedFreeUniquePtr<T[]>> arrays_;
};

}  // namespace heed::kernels
