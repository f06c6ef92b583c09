#include "heed/attention/kv_cache.hpp"

#include <algorithm>

#include "heed/base/error.hpp"

namespace heed {
namespace {

Tensor storage(const KVCacheOptions& options, std::int64_t batch, std::int64_t room,
               std::int64_t width) {
  // Zeros, for what asks to see scores of slots behind the mask.
  return torch::zeros({batch, options.heads, room, width}, options.tensors);
}

}  // namespace

KVCache::KVCache(const KVCacheOptions& options) : options_(options) {
  HEED_CHECK(
      options.batch >= 0 && options.heads > 0 && options.key_dim > 0 && options.value_dim > 0 &&
          options.room > 0,
      "KVCache: batch {}, heads {}, key width {}, value width {}, room {}; all but the batch "
      "must be above 0",
      options.batch, options.heads, options.key_dim, options.value_dim, options.room);
  HEED_CHECK(torch::isFloatingType(torch::typeMetaToScalarType(options.tensors.dtype())),
             "KVCache: type {}; a floating-point type is needed",
             torch::toString(torch::typeMetaToScalarType(options.tensors.dtype())));
  HEED_CHECK(!options.capacity || *options.capacity > 0,
             "KVCache: capacity is {}; it must be above 0", *options.capacity);
  HEED_CHECK(!options.window || *options.window > 0, "KVCache: window is {}; it must be above 0",
             *options.window);
  std::int64_t room = std::min(options.room, options.capacity.value_or(options.room));
  if (options.window) room = std::min(room, 2 * *options.window);
  keys_ = storage(options, options.batch, room, options.key_dim);
  values_ = storage(options, options.batch, room, options.value_dim);
  lengths_.assign(options.batch, 0);
  offsets_.assign(options.batch, 0);
}

std::int64_t KVCache::longest() const {
  return lengths_.empty() ? 0 : *std::max_element(lengths_.begin(), lengths_.end());
}

void KVCache::check(const Tensor& x, const Tensor& storage, const char* name) const {
  HEED_CHECK(x.dim() == 4 && x.size(0) == batch() && x.size(1) == storage.size(1) &&
                 x.size(3) == storage.size(3),
             "KVCache.append: {} is {}; this cache takes {}×{}×n×{}", name, shape_text(x), batch(),
             storage.size(1), storage.size(3));
  HEED_CHECK(x.scalar_type() == storage.scalar_type() && x.device() == storage.device(),
             "KVCache.append: {} is {} on {}; this cache holds {} on {}", name,
             torch::toString(x.scalar_type()), x.device().str(),
             torch::toString(storage.scalar_type()), storage.device().str());
  HEED_CHECK(!x.requires_grad() || !torch::GradMode::is_enabled(),
             "KVCache.append: {} needs a gradient, which a cache cannot carry; append under "
             "torch.no_grad(), or detach it",
             name);
}

// One whole number for each entry.
std::vector<std::int64_t> KVCache::numbers(const Tensor& x, const char* what) const {
  HEED_CHECK(x.dim() == 1 && x.size(0) == batch() && torch::isIntegralType(x.scalar_type(), false),
             "KVCache: {} is {} of {}; needed is one whole number for each of {} entries", what,
             shape_text(x), torch::toString(x.scalar_type()), batch());
  const Tensor whole = x.to(torch::kCPU, torch::kInt64).contiguous();
  const std::int64_t* first = whole.const_data_ptr<std::int64_t>();
  return {first, first + whole.size(0)};
}

// Slots for `count` more tokens of every entry: what no query to come can see makes way first.
void KVCache::make_room(std::int64_t count) {
  if (longest() + count <= keys_.size(2)) return;
  std::vector<std::int64_t> drop(lengths_.size(), 0);
  std::int64_t need = 0;
  for (std::size_t b = 0; b < lengths_.size(); ++b) {
    if (options_.window) drop[b] = std::max<std::int64_t>(0, lengths_[b] - (*options_.window - 1));
    need = std::max(need, lengths_[b] - drop[b] + count);
  }
  // Room for twice the window: a move of the window is paid by as many appends.
  std::int64_t room = 2 * options_.window.value_or(keys_.size(2));
  if (options_.capacity) room = std::min(room, *options_.capacity);
  room = std::max(room, need);
  const Tensor keys = storage(options_, batch(), room, options_.key_dim);
  const Tensor values = storage(options_, batch(), room, options_.value_dim);
  for (std::size_t b = 0; b < lengths_.size(); ++b) {
    const auto entry = static_cast<std::int64_t>(b);
    const std::int64_t kept = lengths_[b] - drop[b];
    keys[entry].narrow(1, 0, kept).copy_(keys_[entry].narrow(1, drop[b], kept));
    values[entry].narrow(1, 0, kept).copy_(values_[entry].narrow(1, drop[b], kept));
    lengths_[b] = kept;
    offsets_[b] += drop[b];
  }
  keys_ = keys;
  values_ = values;
}

void KVCache::append(const Tensor& key, const Tensor& value, const Tensor& counts) {
  check(key, keys_, "key");
  check(value, values_, "value");
  const std::int64_t n = key.size(2);
  HEED_CHECK(value.size(2) == n, "KVCache.append: key has {} tokens, value has {}", n,
             value.size(2));
  const std::vector<std::int64_t> taken =
      counts.defined() ? numbers(counts, "counts") : std::vector<std::int64_t>(lengths_.size(), n);
  for (std::size_t b = 0; b < taken.size(); ++b) {
    HEED_CHECK(taken[b] >= 0 && taken[b] <= n,
               "KVCache.append: counts hold {} for entry {}; key has {} tokens", taken[b], b, n);
    std::int64_t kept = lengths_[b];
    if (options_.window) kept = std::min(kept, *options_.window - 1);
    HEED_CHECK(!options_.capacity || kept + taken[b] <= *options_.capacity,
               "KVCache.append: entry {} would hold {} keys; the capacity is {}", b,
               kept + taken[b], *options_.capacity);
  }
  const torch::NoGradGuard no_graph;
  make_room(n);
  slots_ = 0;
  for (std::size_t b = 0; b < taken.size(); ++b) {
    const auto entry = static_cast<std::int64_t>(b);
    keys_[entry].narrow(1, lengths_[b], n).copy_(key[entry]);
    values_[entry].narrow(1, lengths_[b], n).copy_(value[entry]);
    slots_ = std::max(slots_, lengths_[b] + n);
    lengths_[b] += taken[b];
  }
}

void KVCache::truncate(const Tensor& positions) {
  const std::vector<std::int64_t> ends = numbers(positions, "positions");
  for (std::size_t b = 0; b < ends.size(); ++b) {
    const std::int64_t now = offsets_[b] + lengths_[b];
    HEED_CHECK(ends[b] >= 0 && ends[b] <= now,
               "KVCache.truncate: entry {} has {} tokens; it cannot go back to {}", b, now,
               ends[b]);
    // The next query sees window − 1 keys before its own.
    const std::int64_t seen = std::min(ends[b], options_.window.value_or(1) - 1);
    HEED_CHECK(ends[b] - offsets_[b] >= seen,
               "KVCache.truncate: entry {} cannot go back to {}: the window dropped what lies "
               "before {}",
               b, ends[b], offsets_[b]);
  }
  for (std::size_t b = 0; b < ends.size(); ++b) lengths_[b] = ends[b] - offsets_[b];
  slots_ = longest();
}

void KVCache::reorder(const Tensor& index) {
  HEED_CHECK(index.dim() == 1 && torch::isIntegralType(index.scalar_type(), false),
             "KVCache.reorder: index is {} of {}; needed is a list of entry numbers",
             shape_text(index), torch::toString(index.scalar_type()));
  const Tensor from = index.to(torch::kCPU, torch::kInt64);
  std::vector<std::int64_t> lengths, offsets;
  for (std::int64_t i = 0; i < from.size(0); ++i) {
    const auto entry = from[i].item<std::int64_t>();
    HEED_CHECK(entry >= 0 && entry < batch(),
               "KVCache.reorder: index holds {}; there are {} entries", entry, batch());
    lengths.push_back(lengths_[static_cast<std::size_t>(entry)]);
    offsets.push_back(offsets_[static_cast<std::size_t>(entry)]);
  }
  const torch::NoGradGuard no_graph;
  keys_ = keys_.index_select(0, from.to(keys_.device()));
  values_ = values_.index_select(0, from.to(values_.device()));
  lengths_ = std::move(lengths);
  offsets_ = std::move(offsets);
}

Tensor KVCache::lengths() const { return torch::tensor(lengths_, torch::kInt64); }

Tensor KVCache::offsets() const { return torch::tensor(offsets_, torch::kInt64); }

Tensor KVCache::positions() const {
  return offsets().unsqueeze(1) + torch::arange(slots_, torch::kInt64);
}

Tensor KVCache::next_positions(std::int64_t count) const {
  HEED_CHECK(count >= 0, "KVCache.next_positions: count is {}", count);
  return (offsets() + lengths()).unsqueeze(1) + torch::arange(count, torch::kInt64);
}

}  // namespace heed
