#include <fmt/format.h>

#include <cmath>

#include "attention/position.hpp"
#include "heed/attention/registry.hpp"
#include "heed/base/memory.hpp"

namespace heed {
namespace {

// q_i · (k_j + r_{j−i}) is a bias q_i · r_{j−i} on q_i · k_j; the vectors serve all heads.
class Relative : public Position {
 public:
  explicit Relative(const PositionProblem& problem)
      : clip_(get<std::int64_t>(problem.options, "clip")),
        scale_(problem.score == "dot" ? 1 : 1 / std::sqrt(static_cast<double>(problem.head_dim))) {
    check_dot("relative", problem);
    r_ = register_parameter("r", 0.02 * torch::randn({2 * clip_ + 1, problem.head_dim}));
  }

  Asking place(const Asking& asking) const override {
    const std::int64_t B = asking.query.data.size(0), Q = asking.query.data.size(-2),
                       K = asking.keys.data.size(-2),
                       H = asking.query.data.dim() == 4 ? asking.query.data.size(1) : 1;
    // A bias and its gradient for each pair, and for each pair of places an index of 8 bytes.
    check_room(
        (8.0 * static_cast<double>(B * H) + 16.0) * static_cast<double>(Q) * static_cast<double>(K),
        "position 'relative'",
        [&] { return fmt::format("{} entries × {} heads × {} queries × {} keys", B, H, Q, K); },
        "take a smaller batch (train.batch) or shorter inputs (task.max_length), or position "
        "'alibi' or 'rope'");
    const Tensor to_key = -distances("relative", asking);
    const Tensor by_distance = torch::matmul(asking.query.data, r_.t()) * scale_;
    std::vector<std::int64_t> sizes = by_distance.sizes().vec();
    sizes.back() = to_key.size(-1);
    const Tensor which = to_key.clamp(-clip_, clip_) + clip_;
    Asking placed = asking;
    placed.bias = by_distance.gather(-1, which.expand(sizes));
    if (asking.bias.defined()) placed.bias = placed.bias + asking.bias;
    return placed;
  }

 private:
  std::int64_t clip_;
  double scale_;
  Tensor r_;
};

}  // namespace

PartInfo relative() {
  return {
      .id = "relative",
      .group = Group::position,
      .title = "Relative",
      .formula = R"(q_i \cdot (k_j + r_{\mathrm{clip}(j - i)}))",
      .paper = "Shaw et al. 2018, eq. 4",
      .inputs = "features that ask each other; score dot or scaled-dot",
      .time = "O(Q (c d + K))",
      .memory = "O(H Q K)",
      .advice = "distances are learned, each by itself",
      .suits = {"order", "near"},
      .options = {{.name = "clip",
                   .fallback = std::int64_t{16},
                   .doc = "c: distances beyond it are alike",
                   .min = 0,
                   .max = 65536}},
      .make = MakePosition([](const PositionProblem& problem) -> std::shared_ptr<Position> {
        return std::make_shared<Relative>(problem);
      }),
  };
}

}  // namespace heed
