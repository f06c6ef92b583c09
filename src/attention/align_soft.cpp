#include <limits>

#include "heed/attention/align.hpp"
#include "heed/attention/registry.hpp"

namespace heed {
namespace {

class Soft : public Align {
 public:
  explicit Soft(const Options& options) : temperature_(get<double>(options, "temperature")) {}

  bool sums_to_one() const override { return true; }
  bool plain_softmax() const override { return temperature_ == 1; }

  Aligned reference(const AlignInput& in, const Params&) const override {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    if (in.scores.size(-1) == 0) {  // no keys: every row is empty
      return {.weights = in.scores, .lse = torch::full_like(in.scores.sum(-1), kNever)};
    }
    Tensor e = temperature_ == 1 ? in.scores : in.scores / temperature_;
    // An empty row is decided on the mask; it gets harmless scores here and zeros below, so that
    // neither its values nor its gradients meet 0/0.
    Tensor some;
    if (in.keep.defined()) {
      some = in.keep.any(-1, true).expand({e.size(0), e.size(1), e.size(2), 1});
      e = torch::where(some, torch::where(in.keep, e, kNever), 0.0);
    }
    if (in.sink.defined()) {
      const Tensor sink = in.sink.to(e.dtype()).view({1, -1, 1, 1});
      e = torch::cat({e, sink.expand({e.size(0), -1, e.size(2), 1})}, -1);
    }
    Aligned out{.weights = torch::softmax(e, -1), .lse = torch::logsumexp(e, -1)};
    if (in.sink.defined()) out.weights = out.weights.narrow(-1, 0, e.size(-1) - 1);
    if (in.keep.defined()) {
      out.weights = torch::where(in.keep, out.weights, 0.0);
      out.lse = torch::where(some.squeeze(-1), out.lse, kNever);
    }
    return out;
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
      .memory = "O(Q K) reference",
      .advice = "the default: every key gets some weight, smooth gradients",
      .options = {{.name = "temperature",
                   .fallback = 1.0,
                   .doc = "T: below 1 sharper, above 1 flatter",
                   .min = 1e-6,
                   .max = 1e6}},
      .make = [](const Options& options) -> std::unique_ptr<Align> {
        return std::make_unique<Soft>(options);
      },
  };
}

}  // namespace heed
