#include "heed/attention/align.hpp"
#include "heed/attention/registry.hpp"

namespace heed {
namespace {

class Soft : public Align {
 public:
  explicit Soft(const Options& options) : temperature_(get<double>(options, "temperature")) {}

  bool sums_to_one() const override { return true; }
  bool has_form() const override { return temperature_ == 1; }

  Aligned reference(const AlignInput& in, const Params&) const override {
    const Tensor e = temperature_ == 1 ? in.scores : in.scores / temperature_;
    return masked_softmax(e, in.keep, in.sink);
  }

 private:
  double temperature_;
};

}  // namespace

PartInfo soft() {
  return {
      .id = "soft",
      .group = Group::align,
      .title = "Soft (global)",
      .formula = R"(a_l = \frac{\exp(e_l / T)}{\sum_j \exp(e_j / T)})",
      .paper = "Bahdanau et al. 2015, eq. 6",
      .time = "O(Q K)",
      .memory = "O(Q + K) fused, O(Q K) reference",
      .advice = "the default: every key gets some weight, smooth gradients",
      .options = {{.name = "temperature",
                   .fallback = 1.0,
                   .doc = "T: below 1 sharper, above 1 flatter",
                   .min = 1e-6,
                   .max = 1e6}},
      .fused = "dot, additive",
      .make = [](const Options& options) -> std::unique_ptr<Align> {
        return std::make_unique<Soft>(options);
      },
  };
}

}  // namespace heed
