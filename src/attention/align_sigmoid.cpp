#include "heed/attention/align.hpp"

namespace heed {
namespace {

class Sigmoid : public Align {
 public:
  bool sums_to_one() const override { return false; }
  bool has_lse() const override { return false; }
  bool has_form() const override { return true; }
  AlignForm form(const AlignInput&, const Params&) const override {
    return {.kind = AlignForm::Kind::sigmoid};
  }
  Aligned reference(const AlignInput& in, const Params&) const override {
    if (!in.keep.defined()) return {.weights = torch::sigmoid(in.scores)};
    const Tensor e = torch::where(in.keep, in.scores, 0.0);
    return {.weights = torch::where(in.keep, torch::sigmoid(e), 0.0)};
  }
};

}  // namespace

PartInfo sigmoid() {
  return {
      .id = "sigmoid",
      .group = Group::align,
      .title = "Sigmoid",
      .formula = R"(a_l = \sigma(e_l))",
      .paper = "Kim et al. 2017, section 3",
      .time = "O(Q K)",
      .memory = "O(Q + K) fused, O(Q K) reference",
      .advice = "when several keys may be wanted whole, or none",
      .suits = {"many-at-once"},
      .fused = "dot, additive",
      .matrices = 4,
      .make = [](const Options&) -> std::unique_ptr<Align> { return std::make_unique<Sigmoid>(); },
  };
}

}  // namespace heed
