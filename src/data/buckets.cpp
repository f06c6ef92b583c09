#include "heed/data/buckets.hpp"

#include <algorithm>
#include <numeric>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

using Indices = std::vector<std::size_t>;

// Batches drawn from this many at a time. More: less padding. Fewer: more chance in who meets whom.
constexpr std::size_t kBatchesPerChunk = 50;

void append_batches(std::span<const std::size_t> indices, std::size_t batch_size,
                    std::vector<Indices>& batches) {
  for (std::size_t i = 0; i < indices.size(); i += batch_size) {
    const auto batch = indices.subspan(i, std::min(batch_size, indices.size() - i));
    batches.emplace_back(batch.begin(), batch.end());
  }
}

Indices all_indices(std::size_t count, std::size_t batch_size) {
  HEED_CHECK(batch_size > 0, "batch_size: 0 examples a batch; give 1 or more");
  Indices order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

}  // namespace

std::vector<Indices> bucket_batches(std::span<const std::int64_t> lengths, std::size_t batch_size,
                                    std::uint64_t seed) {
  Indices order = all_indices(lengths.size(), batch_size);
  batch_size = std::min(batch_size, std::max<std::size_t>(1, order.size()));
  Random random(seed);
  random.shuffle(std::span(order));
  std::vector<Indices> batches;
  const std::size_t chunk_size = batch_size * kBatchesPerChunk;
  for (std::size_t start = 0; start < order.size(); start += chunk_size) {
    const auto chunk = std::span(order).subspan(start, std::min(chunk_size, order.size() - start));
    // Stable: among equal lengths the shuffled order decides, on every machine alike.
    std::ranges::stable_sort(chunk, {}, [&](std::size_t i) { return lengths[i]; });
    append_batches(chunk, batch_size, batches);
  }
  random.shuffle(std::span(batches));
  return batches;
}

std::vector<Indices> in_order_batches(std::span<const std::int64_t> lengths, std::size_t batch_size,
                                      std::size_t most) {
  Indices order = all_indices(lengths.size(), batch_size);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return lengths[i]; });
  std::vector<Indices> batches;
  for (const std::size_t i : order) {
    const auto padded = static_cast<std::size_t>(std::max<std::int64_t>(1, lengths[i]));
    const bool full = batches.empty() || batches.back().size() == batch_size ||
                      batches.back().size() + 1 > most / padded;
    if (full) batches.emplace_back();
    batches.back().push_back(i);
  }
  return batches;
}

}  // namespace heed
