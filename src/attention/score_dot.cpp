#include "attention/parts.hpp"
#include "heed/attention/score.hpp"

namespace heed {
namespace {

class Dot : public Score {
 public:
  ScoreForm::Kind form() const override { return ScoreForm::Kind::dot; }

  Tensor reference(const Tensor& q, const Tensor& k, const Params&) const override {
    return torch::matmul(q, k.transpose(-1, -2));
  }
};

}  // namespace

PartInfo dot() {
  return {
      .id = "dot",
      .group = Group::score,
      .title = "Dot product",
      .formula = R"(q \cdot k)",
      .paper = "Luong et al. 2015, eq. 8",
      .time = "O(Q K d)",
      .memory = "O(Q + K) fused, O(Q K) reference",
      .advice = "the cheapest; for narrow keys, or keys of unit length",
      .fused = "dot",
      .unsupported = same_width,
      .make = [](const Options&) -> std::unique_ptr<Score> { return std::make_unique<Dot>(); },
  };
}

}  // namespace heed
