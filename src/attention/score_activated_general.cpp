#include "heed/attention/registry.hpp"
#include "heed/attention/score.hpp"

namespace heed {
namespace {

class ActivatedGeneral : public Score {
 public:
  explicit ActivatedGeneral(const Options& options) : act_(get<std::string>(options, "act")) {}

  std::vector<ParamInfo> params() const override {
    return {{.name = "W", .shape = {"d_k", "d_q"}},
            {.name = "b", .shape = {}, .init = Init::zeros}};
  }

  ScoreForm::Kind form() const override { return ScoreForm::Kind::dot; }
  ScoreForm operands(const Tensor& q, const Tensor& k, const Params& params) const override {
    return {.query = project_rows(params.at("W"), q),
            .key = k,
            .row_bias = bias(params).squeeze(-1).expand({q.size(0), q.size(1), q.size(2)}),
            .act = act_};
  }

  Tensor reference(const Tensor& q, const Tensor& k, const Params& params) const override {
    const Tensor product = torch::matmul(project(params.at("W"), q), k.transpose(-1, -2));
    return activate(act_, product + bias(params));
  }

 private:
  /// b, shared or one a head, in a shape that meets [B, H, Q, K].
  static Tensor bias(const Params& params) { return params.at("b").reshape({1, -1, 1, 1}); }

  std::string act_;
};

}  // namespace

PartInfo activated_general() {
  return {
      .id = "activated-general",
      .group = Group::score,
      .title = "Activated general",
      .formula = R"(\mathrm{act}(k \cdot W q + b))",
      .paper = "Ma et al. 2017 (IAN)",
      .inputs = "query, keys",
      .time = "O(Q d_q d_k + Q K d_k)",
      .memory = "O(Q + K) fused, O(Q K) reference",
      .advice = "general, with bounded scores: no key can take all the weight",
      .suits = {"bounded", "different-widths"},
      .options = {act_option()},
      .fused = "dot, after W q; b and the activation on tiles of scores",
      .make = [](const Options& options) -> std::unique_ptr<Score> {
        return std::make_unique<ActivatedGeneral>(options);
      },
  };
}

}  // namespace heed
