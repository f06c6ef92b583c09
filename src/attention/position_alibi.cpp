#include "attention/position.hpp"

namespace heed {
namespace {

class Alibi : public Position {
 public:
  explicit Alibi(const PositionProblem& problem) : heads_(problem.heads) {}

  Asking place(const Asking& asking) const override {
    distances("alibi", asking);  // for its check; attend has the formula
    Asking placed = asking;
    const Tensor head =
        torch::arange(1, heads_ + 1, asking.keys.data.options().requires_grad(false));
    placed.alibi = torch::exp2(head * (-8.0 / static_cast<double>(heads_)));
    return placed;
  }

 private:
  std::int64_t heads_;
};

}  // namespace

PartInfo alibi() {
  return {
      .id = "alibi",
      .group = Group::position,
      .title = "Linear bias (ALiBi)",
      .formula = R"(e_{ij} - m_h |i - j|, \; m_h = 2^{-8 h / H})",
      .paper = "Press et al. 2022, section 3",
      .inputs = "features that ask each other; every score",
      .time = "O(Q K)",
      .memory = "O(H)",
      .advice = "longer texts than in training; no parameters",
      .suits = {"order", "long"},
      .make = MakePosition([](const PositionProblem& problem) -> std::shared_ptr<Position> {
        return std::make_shared<Alibi>(problem);
      }),
  };
}

}  // namespace heed
