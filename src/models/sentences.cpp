#include "models/sentences.hpp"

namespace heed {
namespace {

/// [B, N] which run a position belongs to, and its place in it.
struct Places {
  Tensor run, place;
};

Places places_of(const Tensor& sizes, std::int64_t positions) {
  const Tensor ends = sizes.cumsum(1);
  const Tensor at = torch::arange(positions).expand({sizes.size(0), positions}).contiguous();
  const Tensor run = torch::searchsorted(ends, at, /*out_int32=*/false, /*right=*/true)
                         .clamp_max(sizes.size(1) - 1);
  return {run, at - (ends - sizes).gather(1, run)};
}

/// The weight of feature k at place j of J: (1 − j/J) − (k/d)(1 − 2j/J), both counted from 1.
Tensor position_weights(const Tensor& place, const Tensor& size, std::int64_t dim) {
  const Tensor j = ((place + 1) / size.clamp_min(1).to(torch::kFloat32)).unsqueeze(-1);
  const Tensor k = torch::arange(1, dim + 1, torch::kFloat32) / static_cast<double>(dim);
  return (1 - j) - k * (1 - 2 * j);
}

}  // namespace

Input pool_sentences(const Input& input, const std::string& how) {
  const Input x = zero_padding(input);
  const std::int64_t B = x.data.size(0), N = x.data.size(1), D = x.data.size(2);
  const Tensor all = x.lengths.defined() ? x.lengths : torch::full({B}, N, torch::kInt64);
  const Segments runs = x.levels.empty() ? Segments{.sizes = all.unsqueeze(1)} : x.levels.front();
  const std::int64_t S = runs.sizes.size(1);
  const auto [run, place] = places_of(runs.sizes, N);
  const Tensor size = runs.sizes.gather(1, run);
  Tensor weighed = x.data;
  if (how == "position") {
    weighed = weighed * position_weights(place, size, D).to(weighed.scalar_type());
  } else {
    weighed = weighed / size.clamp_min(1).unsqueeze(-1);
  }
  Input pooled{.data = torch::zeros({B, S, D}, x.data.options())
                           .scatter_add(1, run.unsqueeze(-1).expand({B, N, D}), weighed),
               .lengths = runs.lengths,
               .name = x.name};
  if (x.levels.size() > 1) pooled.levels.assign(x.levels.begin() + 1, x.levels.end());
  return pooled;
}

// Runs of nearly the same length go together, so that one long sentence does not pad all others.
Tensor encode_sentences(const Input& x, const std::function<Tensor(const Input&)>& encode) {
  if (x.levels.empty()) return encode(x);
  const std::int64_t B = x.data.size(0), N = x.data.size(1);
  const Tensor& sizes = x.levels.front().sizes;
  const Tensor real = sizes.flatten().nonzero().squeeze(1);  // runs that are there, of all entries
  if (real.numel() == 0) return encode(x);
  const auto [lengths, order] =
      sizes.flatten().index_select(0, real).sort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
  // Where each run begins among the B·N positions.
  const Tensor begins = ((sizes.cumsum(1) - sizes) + torch::arange(B).unsqueeze(1) * N)
                            .flatten()
                            .index_select(0, real.index_select(0, order));
  const Tensor words = x.data.reshape({B * N, -1});
  std::vector<Tensor> encoded, positions;
  for (std::int64_t from = 0; from < real.numel();) {
    const auto longest = lengths[from].item<std::int64_t>();
    const std::int64_t to = (lengths * 2 > longest).sum().item<std::int64_t>();
    const Tensor own = lengths.slice(0, from, to), step = torch::arange(longest);
    const Tensor places = begins.slice(0, from, to).unsqueeze(1) + step;
    const Tensor there = step < own.unsqueeze(1);
    const Tensor rows = words.index_select(0, places.clamp_max(B * N - 1).flatten());
    const Tensor group =
        encode({.data = rows.view({to - from, longest, -1}), .lengths = own, .name = x.name});
    encoded.push_back(group.flatten(0, 1).index_select(0, there.flatten().nonzero().squeeze(1)));
    positions.push_back(places.masked_select(there));
    from = to;
  }
  const Tensor all = torch::cat(encoded);
  return torch::zeros({B * N, all.size(1)}, all.options())
      .index_copy(0, torch::cat(positions), all)
      .view({B, N, -1});
}

}  // namespace heed
