#include "mechanisms/grouping.hpp"

#include "heed/base/error.hpp"

namespace heed {

Grouping::Grouping(Input below, const Segments& segments)
    : below_(std::move(below)), lengths_(segments.lengths), sizes_(segments.sizes) {
  const std::int64_t B = below_.data.size(0), N = below_.data.size(1);
  HEED_CHECK(sizes_.dim() == 2 && sizes_.size(0) == B && !sizes_.is_floating_point(),
             "levels of '{}': the sizes are {}; needed is a whole number for each segment of {} "
             "entries",
             below_.name, shape_text(sizes_), B);
  sizes_ = sizes_.to(torch::kInt64);
  if (lengths_.defined()) {
    const Tensor order = torch::arange(sizes_.size(1), lengths_.options());
    sizes_ = sizes_.masked_fill(order.unsqueeze(0) >= lengths_.unsqueeze(1), 0);
  }
  const Tensor covered = sizes_.sum(1);
  const Tensor needed = below_.lengths.defined() ? below_.lengths : torch::full_like(covered, N);
  HEED_CHECK(torch::equal(covered, needed.to(torch::kInt64)),
             "levels of '{}': an entry's segments must cover all of it; they cover up to {} of up "
             "to {} positions",
             below_.name, B > 0 ? covered.max().item<std::int64_t>() : 0,
             B > 0 ? needed.max().item<std::int64_t>() : 0);
  const std::int64_t M = sizes_.numel() > 0 ? sizes_.max().item<std::int64_t>() : 0;
  const Tensor place = torch::arange(M, sizes_.options());
  valid_ = place < sizes_.unsqueeze(-1);
  index_ = ((sizes_.cumsum(1) - sizes_).unsqueeze(-1) + place).masked_fill(~valid_, 0);
}

Input Grouping::entries() const {
  const std::int64_t B = index_.size(0), S = index_.size(1), M = index_.size(2),
                     D = below_.data.size(2);
  const Tensor rows = below_.data.gather(1, index_.reshape({B, S * M, 1}).expand({-1, -1, D}));
  // Past a segment's size anything may stand: its length masks it.
  return {.data = rows.reshape({B * S, M, D}),
          .lengths = sizes_.flatten(),
          .name = below_.name,
          .levels = {}};
}

Tensor Grouping::repeat(const Tensor& x) const {
  return x.defined() ? x.repeat_interleave(segments(), 0) : x;
}

Input Grouping::above(const Tensor& contexts) const {
  return {.data = contexts.unflatten(0, {index_.size(0), segments()}),
          .lengths = lengths_,
          .name = "",  // its positions are no words of the input
          .levels = {}};
}

TraceView Grouping::view() const {
  const std::int64_t B = index_.size(0), S = index_.size(1), M = index_.size(2),
                     N = below_.data.size(1);
  const Tensor index = index_.unsqueeze(1), valid = valid_.unsqueeze(1);  // [B, 1, S, M]
  const auto outward = [=](const Tensor& weights) {                       // [B·S, H, 1, M]
    const std::int64_t H = weights.size(1);
    const Tensor each = weights.reshape({B, S, H, M}).transpose(1, 2);
    return torch::zeros({B, H, S, N}, weights.options())
        .scatter_add(-1, index.expand({B, H, S, M}), torch::where(valid, each, 0.0));
  };
  const auto inward = [=](Tensor given) {  // [B, N], [B, S, N] or [B, H, S, N]
    while (given.dim() < 4) given = given.unsqueeze(1);
    const std::int64_t H = given.size(1);
    const Tensor each =
        given.expand({B, H, S, N}).gather(-1, index.expand({B, H, S, M}));  // [B, H, S, M]
    return torch::where(valid, each, 0.0).transpose(1, 2).reshape({B * S, H, 1, M});
  };
  // A weight for each feature goes as so many more heads.
  const auto as_heads = [](const Tensor& x) { return x.movedim(-1, 2).flatten(1, 2); };
  const auto as_features = [](const Tensor& x, std::int64_t D) {
    return x.unflatten(1, {x.size(1) / D, D}).movedim(2, -1);
  };
  return {.outward =
              [=, *this](TraceMap map) {
                map.weights = outward(map.weights);
                if (map.features.defined())
                  map.features =
                      as_features(outward(as_heads(map.features)), map.features.size(-1));
                map.query_lengths = lengths_;
                map.key_lengths = below_.lengths;
                return map;
              },
          .inward =
              [=](const Tensor& given) {
                return given.dim() == 5 ? as_features(inward(as_heads(given)), given.size(-1))
                                        : inward(given);
              },
          .entries =
              [=](const Tensor& x) {
                return x.reshape({B, -1}).sum(1);
              }};
}

}  // namespace heed
