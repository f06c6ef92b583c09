#include "mechanisms/pool.hpp"

#include <limits>

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

}  // namespace heed
