#include "attention/visibility.hpp"

#include <limits>

#include "heed/attention/align.hpp"

namespace heed {
Tensor Visibility::distance() const {
  const auto whole = torch::TensorOptions(torch::kInt64).device(device);
  const Tensor i = torch::arange(Q, whole).view({1, 1, Q, 1});
  const Tensor j = torch::arange(K, whole).view({1, 1, 1, K});
  switch (causal.corner) {
    case Causal::Corner::offset:
      return i - j + causal.offset;
    case Causal::Corner::bottom_right:
      if (lengths.defined()) return i - j + (lengths.to(whole).view({B, 1, 1, 1}) - Q);
      return i - j + (K - Q);
    default:
      return i - j;
  }
}

Tensor Visibility::keep() const {
  Tensor result = mask;
  if (bias.defined()) result = both(result, bias != -std::numeric_limits<double>::infinity());
  if (lengths.defined()) {
    const Tensor j = torch::arange(K, lengths.options()).view({1, 1, 1, K});
    result = both(result, j < lengths.view({B, 1, 1, 1}));
  }
  const bool is_causal = causal.corner != Causal::Corner::none;
  if (!is_causal && !window) return result;
  const Tensor d = distance();
  if (is_causal) result = both(result, d >= 0);
  if (window && (*window)[0] >= 0) result = both(result, d <= (*window)[0]);
  if (window && (*window)[1] >= 0) result = both(result, d >= -(*window)[1]);
  return result;
}

}  // namespace heed
