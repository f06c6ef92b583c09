#include <cmath>

#include "attention/position.hpp"
#include "heed/attention/registry.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

// Features 2i and 2i + 1 are a complex number, which place l turns by the angle l / base^(2i / d).
class Rope : public Position {
 public:
  explicit Rope(const PositionProblem& problem) : base_(get<double>(problem.options, "base")) {
    check_dot("rope", problem);
    HEED_CHECK(
        problem.head_dim % 2 == 0,
        "position 'rope': it turns pairs of features; the width of a head is {}, an even one "
        "is needed",
        problem.head_dim);
  }

  Asking place(const Asking& asking) const override {
    const Tensor distance = distances("rope", asking);
    Asking placed = asking;
    if (distance.numel() == 0) return placed;
    // Key 0 is at place 0, so the distance to it is the query's place.
    placed.query.data = turn(asking.query.data, distance.select(-1, 0));
    placed.keys.data =
        turn(asking.keys.data, torch::arange(asking.keys.data.size(-2), distance.options()));
    if (!placed.values.defined()) placed.values = asking.keys.data;
    return placed;
  }

 private:
  Tensor turn(const Tensor& x, const Tensor& places) const {
    const std::int64_t dim = x.size(-1);
    const Tensor even = torch::arange(0, dim, 2, places.options().dtype(torch::kFloat64));
    const Tensor angle =
        places.unsqueeze(-1) * torch::exp(even * (-std::log(base_) / static_cast<double>(dim)));
    const Tensor cos = angle.cos().to(x.scalar_type()), sin = angle.sin().to(x.scalar_type());
    const Tensor pairs = x.unflatten(-1, {dim / 2, 2});
    const Tensor re = pairs.select(-1, 0), im = pairs.select(-1, 1);
    return torch::stack({re * cos - im * sin, re * sin + im * cos}, -1).flatten(-2);
  }

  double base_;
};

}  // namespace

PartInfo rope() {
  return {
      .id = "rope",
      .group = Group::position,
      .title = "Rotary",
      .formula = R"((R_i q_i) \cdot (R_j k_j) = q_i \cdot R_{j - i} k_j)",
      .paper = "Su et al. 2021, eq. 15",
      .inputs = "features that ask each other; score dot or scaled-dot",
      .time = "O((Q + K) d)",
      .memory = "O((Q + K) d)",
      .advice = "relative order in a dot product, no parameters",
      .suits = {"order", "much-data"},
      .options = {{.name = "base",
                   .fallback = 10000.0,
                   .doc = "the slowest pair turns once in 2π times this",
                   .min = 1.001,
                   .max = 1e12}},
      .make = MakePosition([](const PositionProblem& problem) -> std::shared_ptr<Position> {
        return std::make_shared<Rope>(problem);
      }),
  };
}

}  // namespace heed
