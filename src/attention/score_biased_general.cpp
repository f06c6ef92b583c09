#include "heed/attention/score.hpp"

namespace heed {
namespace {

class BiasedGeneral : public Score {
 public:
  std::vector<ParamInfo> params() const override {
    return {{.name = "W", .shape = {"d_k", "d_q"}},
            {.name = "b", .shape = {"d_k"}, .init = Init::zeros}};
  }

  ScoreForm::Kind form() const override { return ScoreForm::Kind::dot; }
  ScoreForm operands(const Tensor& q, const Tensor& k, const Params& params) const override {
    return {.query = project_rows(params.at("W"), q) + per_head(params.at("b")), .key = k};
  }

  Tensor reference(const Tensor& q, const Tensor& k, const Params& params) const override {
    const Tensor asked = project(params.at("W"), q) + per_head(params.at("b"));
    return torch::matmul(asked, k.transpose(-1, -2));
  }
};

}  // namespace

PartInfo biased_general() {
  return {
      .id = "biased-general",
      .group = Group::score,
      .title = "Biased general",
      .formula = R"(k \cdot (W q + b))",
      .paper = "Sordoni et al. 2016",
      .inputs = "query, keys",
      .time = "O(Q d_q d_k + Q K d_k)",
      .memory = "O(Q + K) fused, O(Q K) reference",
      .advice = "general, with a preference among keys that needs no query",
      .suits = {"different-widths"},
      .fused = "dot, after W q + b",
      .make = [](const Options&) -> std::unique_ptr<Score> {
        return std::make_unique<BiasedGeneral>();
      },
  };
}

}  // namespace heed
