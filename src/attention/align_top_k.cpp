#include "heed/attention/align.hpp"
#include "heed/attention/registry.hpp"

namespace heed {
namespace {

class TopK : public Align {
 public:
  explicit TopK(const Options& options) : k_(get<std::int64_t>(options, "k")) {}

  bool sums_to_one() const override { return true; }
  bool has_form() const override { return true; }
  AlignForm form(const AlignInput&, const Params&) const override {
    return {.kind = AlignForm::Kind::top_k, .top = k_};
  }
  Aligned reference(const AlignInput& in, const Params&) const override {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    const Tensor e = in.keep.defined() ? torch::where(in.keep, in.scores, kNever) : in.scores;
    // A stable sort leaves ties in the order of the keys.
    const Tensor order = std::get<1>(e.detach().sort(/*stable=*/true, -1, /*descending=*/true));
    const Tensor first = order.narrow(-1, 0, std::min(k_, e.size(-1)));
    const Tensor chosen =
        torch::zeros(e.sizes(), e.options().dtype(torch::kBool).requires_grad(false))
            .scatter(-1, first, true);
    return masked_softmax(in.scores, both(in.keep, chosen));
  }

 private:
  std::int64_t k_;
};

}  // namespace

PartInfo top_k() {
  return {
      .id = "top-k",
      .group = Group::align,
      .title = "Top-k",
      .formula = R"(\mathrm{softmax} \text{ over the } k \text{ largest } e_l)",
      .paper = "Zhao et al. 2019 (explicit sparse transformer)",
      .time = "O(Q K)",
      .memory = "O(Q + K) fused, O(Q K) reference",
      .advice = "a fixed number of keys; ties go to the lower position",
      .suits = {"sparse", "budget"},
      .options = {{.name = "k",
                   .fallback = std::int64_t{8},
                   .doc = "how many keys get weight",
                   .min = 1,
                   .max = 1e9}},
      .fused = "dot, additive",
      .matrices = 11,
      .make = [](const Options& options) -> std::unique_ptr<Align> {
        return std::make_unique<TopK>(options);
      },
  };
}

}  // namespace heed
