#include "heed/attention/score.hpp"

namespace heed {
namespace {

class General : public Score {
 public:
  std::vector<ParamInfo> params() const override {
    return {{.name = "W", .shape = {"d_k", "d_q"}}};
  }

  ScoreForm::Kind form() const override { return ScoreForm::Kind::dot; }
  ScoreForm operands(const Tensor& q, const Tensor& k, const Params& params) const override {
    return {.query = project_rows(params.at("W"), q), .key = k};
  }

  // W meets the query: Q vectors to transform, not K.
  Tensor reference(const Tensor& q, const Tensor& k, const Params& params) const override {
    return torch::matmul(project(params.at("W"), q), k.transpose(-1, -2));
  }
};

}  // namespace

PartInfo general() {
  return {
      .id = "general",
      .group = Group::score,
      .title = "General (bilinear)",
      .formula = R"(k \cdot W q)",
      .paper = "Luong et al. 2015, eq. 8",
      .time = "O(Q d_q d_k + Q K d_k)",
      .memory = "O(Q + K) fused, O(Q K) reference",
      .advice = "when query and key differ in width or kind",
      .suits = {"different-widths"},
      .fused = "dot, after W q",
      .make = [](const Options&) -> std::unique_ptr<Score> { return std::make_unique<General>(); },
  };
}

}  // namespace heed
