// The entmax family: sparsemax is alpha = 2, softmax the limit alpha → 1.
#include "heed/attention/align.hpp"
#include "heed/attention/registry.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

class Entmax : public Align {
 public:
  Entmax(AlignForm::Kind kind, double alpha, bool learned = false)
      : kind_(kind), alpha_(alpha), learned_(learned) {}

  std::vector<ParamInfo> params() const override {
    if (kind_ != AlignForm::Kind::entmax) return {};
    return {{.name = "alpha",
             .shape = {},
             .optional = true,
             .init = Init::constant,
             .value = alpha_,
             .given_only = !learned_}};
  }
  bool sums_to_one() const override { return true; }
  bool has_lse() const override { return false; }

  bool has_form() const override { return true; }
  AlignForm form(const AlignInput& in, const Params& params) const override {
    AlignForm form{.kind = kind_};
    if (kind_ == AlignForm::Kind::entmax) {
      form.alpha = alpha(params, in.type).reshape({-1}).expand({in.heads}).contiguous();
    }
    return form;
  }

  /// p_l = [(α−1) e_l − τ]₊^{1/(α−1)}, with the τ that makes them sum to one.
  Aligned reference(const AlignInput& in, const Params& params) const override {
    if (in.scores.size(-1) == 0) return {.weights = in.scores};
    const Tensor a = alpha(params, in.type).to(in.scores.device()).reshape({-1, 1, 1});
    Tensor e = in.scores;
    Tensor some;
    if (in.keep.defined()) {
      some = in.keep.any(-1, true);
      e = torch::where(in.keep, e, kFar);  // beyond any threshold, and still finite
    }
    const Tensor z = (a - 1) * (e - e.detach().amax(-1, true));
    const auto powers = [](const Tensor& x, const Tensor& rate) {
      const Tensor above = x > 0;
      return torch::where(above, torch::where(above, x, 1.0).pow(1 / rate), 0.0);
    };
    Tensor tau, slope;
    {
      torch::NoGradGuard no_grad;
      Tensor low = torch::full_like(z.narrow(-1, 0, 1), -1), high = torch::zeros_like(low);
      for (int i = 0; i < 80; ++i) {
        const Tensor middle = (low + high) / 2;
        const Tensor enough = powers(z - middle, a - 1).sum(-1, true) >= 1;
        low = torch::where(enough, middle, low);
        high = torch::where(enough, high, middle);
      }
      tau = low;
      const Tensor x = z - tau, p = powers(x, a - 1);
      slope = torch::where(x > 0, p / ((a - 1) * torch::where(x > 0, x, 1.0)), 0.0).sum(-1, true);
    }
    // One Newton step: it hardly moves τ, but gives it the gradient of the implicit function.
    tau = tau + (powers(z - tau, a - 1).sum(-1, true) - 1) / slope;
    Tensor weights = powers(z - tau, a - 1);
    if (some.defined()) weights = torch::where(both(in.keep, some), weights, 0.0);
    return {.weights = weights};
  }

 private:
  static constexpr double kFar = -1e30;

  Tensor alpha(const Params& params, torch::ScalarType type) const {
    const auto given = params.find("alpha");
    if (given == params.end() || !given->second.defined()) {
      return torch::full({}, alpha_, type);
    }
    const double least = given->second.min().item<double>();
    HEED_CHECK(least > 1, "attend: align 'entmax': alpha is {}; it must be above 1 ('soft' is 1)",
               least);
    return given->second.to(type);
  }

  AlignForm::Kind kind_;
  double alpha_;
  bool learned_;
};

PartInfo family(PartInfo info) {
  info.group = Group::align;
  info.time = "O(Q K) and some Newton steps";
  info.memory = "O(Q + K) fused, O(Q K) reference";
  info.fused = "dot, additive";
  return info;
}

}  // namespace

PartInfo sparsemax() {
  return family({
      .id = "sparsemax",
      .title = "Sparsemax",
      .formula = R"(\arg\min_{a \in \Delta} \|a - e\|^2)",
      .paper = "Martins & Astudillo 2016",
      .advice = "exact zeros: few keys get all the weight",
      .suits = {"sparse", "interpretable"},
      .matrices = 14,
      .make = [](const Options&) -> std::unique_ptr<Align> {
        return std::make_unique<Entmax>(AlignForm::Kind::sparsemax, 2.0);
      },
  });
}

PartInfo entmax15() {
  return family({
      .id = "entmax15",
      .title = "1.5-entmax",
      .formula = R"(\arg\max_{a \in \Delta} a \cdot e + H_{1.5}(a))",
      .paper = "Peters et al. 2019",
      .advice = "between soft and sparsemax",
      .suits = {"sparse", "interpretable"},
      .matrices = 15,
      .make = [](const Options&) -> std::unique_ptr<Align> {
        return std::make_unique<Entmax>(AlignForm::Kind::entmax15, 1.5);
      },
  });
}

PartInfo entmax() {
  return family({
      .id = "entmax",
      .title = "α-entmax",
      .formula = R"(\arg\max_{a \in \Delta} a \cdot e + H_\alpha(a))",
      .paper = "Peters et al. 2019; Correia et al. 2019",
      .advice = "sparsity as a number, which may be learned (parameter alpha)",
      .suits = {"sparse", "learned-sparsity"},
      .options = {{.name = "alpha",
                   .fallback = 1.5,
                   .doc = "α above 1: near 1 almost soft, 2 is sparsemax; params alpha comes first",
                   .min = 1.0001,
                   .max = 100},
                  {.name = "learned",
                   .fallback = false,
                   .doc = "a module makes alpha a parameter that starts at the option's value"}},
      .matrices = 16,
      .make = [](const Options& options) -> std::unique_ptr<Align> {
        return std::make_unique<Entmax>(AlignForm::Kind::entmax, get<double>(options, "alpha"),
                                        get<bool>(options, "learned"));
      },
  });
}

}  // namespace heed
