#include "heed/attention/align.hpp"
#include "heed/attention/registry.hpp"

namespace heed {
namespace {

/// Each key, from the last to the first, takes a share of what the later ones left.
class StickBreaking : public Align {
 public:
  explicit StickBreaking(const Options& options) : bias_(get<double>(options, "bias")) {}

  std::vector<ParamInfo> params() const override {
    return {
        {.name = "beta", .shape = {}, .optional = true, .init = Init::constant, .value = bias_}};
  }
  bool sums_to_one() const override { return false; }
  bool has_lse() const override { return false; }

  Aligned reference(const AlignInput& in, const Params& params) const override {
    const auto given = params.find("beta");
    Tensor e = in.scores + (given == params.end() || !given->second.defined()
                                ? torch::full({}, bias_, in.scores.options())
                                : given->second.to(in.scores.dtype()).reshape({-1, 1, 1}));
    if (in.keep.defined()) e = torch::where(in.keep, e, 0.0);
    Tensor left = torch::log_sigmoid(-e);  // log(1 − σ(e)): sums stay exact where products vanish
    if (in.keep.defined()) left = torch::where(in.keep, left, 0.0);
    const Tensor later = left.flip(-1).cumsum(-1).flip(-1) - left;
    const Tensor weights = (torch::log_sigmoid(e) + later).exp();
    return {.weights = in.keep.defined() ? torch::where(in.keep, weights, 0.0) : weights};
  }

 private:
  double bias_;
};

}  // namespace

PartInfo stick_breaking() {
  return {
      .id = "stick-breaking",
      .group = Group::align,
      .title = "Stick-breaking",
      .formula = R"(a_l = \sigma(e_l + \beta) \prod_{j > l} (1 - \sigma(e_j + \beta)))",
      .paper = "Csordás et al. 2022; Tan et al. 2025",
      .time = "O(Q K)",
      .memory = "O(Q K)",
      .advice = "when the latest match counts: later keys go first, earlier ones share the rest",
      .suits = {"order"},
      .options = {{.name = "bias",
                   .fallback = -2.0,
                   .doc = "beta at the start: the lower, the further back it looks; params beta "
                          "comes first",
                   .min = -100,
                   .max = 100}},
      .matrices = 17,
      .make = [](const Options& options) -> std::unique_ptr<Align> {
        return std::make_unique<StickBreaking>(options);
      },
  };
}

}  // namespace heed
