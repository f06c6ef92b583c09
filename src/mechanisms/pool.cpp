#include "mechanisms/pool.hpp"

#include "heed/base/error.hpp"

namespace heed {

Tensor pool(const Input& input, const Tensor& own, const TraceSlot& slot) {
  const Input x = zero_padding(input);
  const std::int64_t B = x.data.size(0), N = x.data.size(1);
  Tensor weights = own;
  if (const Tensor given = slot.replacement(); given.defined()) {
    const std::int64_t D = given.dim() == 5 ? x.data.size(2) : 1;
    HEED_CHECK(given.numel() == B * N * D,
               "trace: the given weights are {}; needed is one for each of {}×{} positions",
               shape_text(given), B, N);
    weights = given.reshape({B, N, D});
  } else if (weights.dim() == 2) {
    weights = weights.unsqueeze(-1);
  }
  if (x.lengths.defined()) weights = torch::where(valid_positions(x).unsqueeze(-1), weights, 0.0);
  const bool each = weights.size(-1) > 1;  // a weight for each feature
  const Tensor map = weights.unsqueeze(1).unsqueeze(1);
  slot.record({.axes = {"head", "query", "key"},
               .query_input = "",
               .key_input = x.name,
               .weights = map.mean(-1),
               .query_lengths = {},
               .key_lengths = x.lengths,
               .features = each ? map : Tensor()});
  return (weights * x.data).sum(1);
}

}  // namespace heed
