#include <cmath>

#include "attention/parts.hpp"
#include "heed/attention/score.hpp"

namespace heed {
namespace {

class ScaledDot : public Score {
 public:
  ScoreForm::Kind form() const override { return ScoreForm::Kind::dot; }

  double default_scale(const Problem& problem) const override {
    return 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(problem.key_dim, 1)));
  }

  Tensor reference(const Tensor& q, const Tensor& k, const Params&) const override {
    return torch::matmul(q, k.transpose(-1, -2));  // `scale` holds the 1/√d_k
  }
};

}  // namespace

PartInfo scaled_dot() {
  return {
      .id = "scaled-dot",
      .group = Group::score,
      .title = "Scaled dot product",
      .formula = R"(\frac{q \cdot k}{\sqrt{d_k}})",
      .paper = "Vaswani et al. 2017, eq. 1",
      .time = "O(Q K d)",
      .memory = "O(Q + K) fused, O(Q K) reference",
      .advice = "the default; needed instead of dot when keys are wide",
      .suits = {"much-data"},
      .fused = "dot",
      .unsupported = same_width,
      .make = [](const Options&) -> std::unique_ptr<Score> {
        return std::make_unique<ScaledDot>();
      },
  };
}

}  // namespace heed
