#include "mechanisms/pool.hpp"

#include <limits>

#include "heed/base/error.hpp"

namespace heed {
namespace {

Tensor last_valid(const Input& x) {
  const Tensor& lengths = x.lengths;
  if (!lengths.defined()) return x.data.select(1, -1);
  const Tensor place = (lengths - 1).clamp_min(0).view({-1, 1, 1}).expand({-1, 1, x.data.size(2)});
  return x.data.gather(1, place).squeeze(1).masked_fill((lengths == 0).unsqueeze(1), 0);
}

Tensor greatest_valid(const Input& x) {
  if (!x.lengths.defined()) return x.data.amax(1);
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const Tensor padding = valid_positions(x).logical_not().unsqueeze(-1);
  return x.data.masked_fill(padding, kNone).amax(1).masked_fill((x.lengths == 0).unsqueeze(1), 0);
}

}  // namespace

Tensor pool(const std::string& how, const Input& x) {
  if (how == "none") return x.data;
  if (x.data.size(1) == 0) return x.data.sum(1);
  if (how == "last") return last_valid(x);
  if (how == "max") return greatest_valid(x);
  return mean(x);
}

OptionInfo pool_option(const std::string& fallback) {
  return {.name = "pool",
          .fallback = fallback,
          .doc = "what becomes of one vector a position; none: they are the context",
          .choices = {"mean", "max", "last", "none"}};
}

Tensor weighted_sum(const Input& input, const Tensor& own, const TraceSlot& slot) {
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
