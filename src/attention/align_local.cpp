// Luong's two local alignments: a window round a place that is known, or predicted.
#include "heed/attention/align.hpp"
#include "heed/attention/registry.hpp"

namespace heed {
namespace {

class LocalM : public Align {
 public:
  explicit LocalM(const Options& options) : reach_(get<std::int64_t>(options, "D")) {}

  bool sums_to_one() const override { return true; }
  bool has_form() const override { return true; }
  AlignForm form(const AlignInput&, const Params&) const override { return {.window = reach_}; }
  Aligned reference(const AlignInput& in, const Params&) const override {
    return masked_softmax(in.scores, both(in.keep, in.distance.abs() <= reach_));
  }

 private:
  std::int64_t reach_;
};

class LocalP : public Align {
 public:
  explicit LocalP(const Options& options)
      : reach_(get<std::int64_t>(options, "D")), hidden_(get<std::int64_t>(options, "hidden")) {}

  std::vector<ParamInfo> params() const override {
    return {{.name = "Wp", .shape = {"h_p", "d_q"}}, {.name = "wp", .shape = {"h_p"}}};
  }
  Letters default_sizes(const Problem& problem) const override {
    return {{"h_p", hidden_ > 0 ? hidden_ : problem.query_dim}};
  }
  bool needs_query() const override { return true; }
  bool sums_to_one() const override { return false; }
  bool has_form() const override { return true; }
  AlignForm form(const AlignInput& in, const Params& params) const override {
    return {.kind = AlignForm::Kind::local_p,
            .reach = static_cast<double>(reach_),
            .center = center(in, params, project_rows)};
  }

  Aligned reference(const AlignInput& in, const Params& params) const override {
    const Tensor p = center(in, params, project).unsqueeze(-1);
    const Tensor offset = torch::arange(in.keys, p.options().requires_grad(false)) - p;
    Aligned out = masked_softmax(in.scores, both(in.keep, offset.detach().abs() <= reach_));
    const double sigma = static_cast<double>(reach_) / 2;
    out.weights = out.weights * torch::exp(-offset.square() / (2 * sigma * sigma));
    return out;
  }

 private:
  /// S · sigmoid(wp · tanh(Wp q)), [B, H, Q].
  Tensor center(const AlignInput& in, const Params& params,
                Tensor (*product)(const Tensor&, const Tensor&)) const {
    const Tensor hidden = torch::tanh(product(params.at("Wp"), in.query));
    const Tensor place = torch::sigmoid((hidden * per_head(params.at("wp"))).sum(-1));
    if (!in.lengths.defined()) return place * in.keys;
    return place * in.lengths.to(place.options().requires_grad(false)).view({-1, 1, 1});
  }

  std::int64_t reach_, hidden_;
};

OptionInfo reach_option(std::int64_t least) {
  return {.name = "D",
          .fallback = std::int64_t{10},
          .doc = "half the width of the window",
          .min = static_cast<double>(least),
          .max = 1e9};
}

}  // namespace

PartInfo local_m() {
  return {
      .id = "local-m",
      .group = Group::align,
      .title = "Local, monotonic",
      .formula = R"(\mathrm{softmax} \text{ over } [t - D, t + D])",
      .paper = "Luong et al. 2015, section 3.2",
      .time = "O(Q D)",
      .memory = "O(Q + K) fused, O(Q K) reference",
      .advice = "when query and key positions run in step",
      .suits = {"long", "near"},
      .options = {reach_option(0)},
      .fused = "dot, additive",
      .matrices = 9,
      .make = [](const Options& options) -> std::unique_ptr<Align> {
        return std::make_unique<LocalM>(options);
      },
  };
}

PartInfo local_p() {
  return {
      .id = "local-p",
      .group = Group::align,
      .title = "Local, predictive",
      .formula = R"(a_l \, e^{-(l - p)^2 / 2\sigma^2}, \; p = S \, \sigma(w_p \cdot \tanh(W_p q)))",
      .paper = "Luong et al. 2015, eq. 9 and 10",
      .time = "O(Q D), plus the keys between the windows of neighbouring queries",
      .memory = "O(Q + K) fused, O(Q K) reference",
      .advice = "when only a window matters and its place must be found",
      .suits = {"long", "near", "place"},
      .options = {reach_option(1),
                  {.name = "hidden",
                   .fallback = std::int64_t{0},
                   .doc = "width of the layer that predicts the place; 0 = the queries' width",
                   .min = 0,
                   .max = 65536}},
      .fused = "dot, additive",
      .matrices = 16,
      .make = [](const Options& options) -> std::unique_ptr<Align> {
        return std::make_unique<LocalP>(options);
      },
  };
}

}  // namespace heed
