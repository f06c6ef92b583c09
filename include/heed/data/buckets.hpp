#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace heed {

/// Indices 0 … lengths.size() − 1, each exactly once, in batches of `batch_size` (one may be
/// smaller) whose lengths are near to each other, so that padding costs little.
///
/// Shuffled: the seed (one an epoch) decides which examples meet and the order of the batches; the
/// same seed gives the same batches everywhere. InputError when batch_size is 0.
std::vector<std::vector<std::size_t>> bucket_batches(std::span<const std::int64_t> lengths,
                                                     std::size_t batch_size, std::uint64_t seed);

/// The same for evaluation: sorted by length (equal ones by index), not shuffled. A batch of
/// several examples has at most `most` places, padding included.
std::vector<std::vector<std::size_t>> in_order_batches(
    std::span<const std::int64_t> lengths, std::size_t batch_size,
    std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace heed
