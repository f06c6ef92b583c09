#include "heed/attention/registry.hpp"
#include "heed/attention/score.hpp"

namespace heed {
namespace {

class LowRankBilinear : public Score {
 public:
  explicit LowRankBilinear(const Options& options) : rank_(get<std::int64_t>(options, "rank")) {}

  std::vector<ParamInfo> params() const override {
    return {{.name = "U", .shape = {"r", "d_k"}}, {.name = "V", .shape = {"r", "d_q"}}};
  }

  Letters default_sizes(const Problem& problem) const override {
    const std::int64_t half = std::min(problem.key_dim, problem.query_dim) / 2;
    return {{"r", rank_ > 0 ? rank_ : std::max<std::int64_t>(half, 1)}};
  }

  ScoreForm::Kind form() const override { return ScoreForm::Kind::dot; }
  ScoreForm operands(const Tensor& q, const Tensor& k, const Params& params) const override {
    return {.query = project_rows(params.at("V"), q), .key = project_rows(params.at("U"), k)};
  }

  Tensor reference(const Tensor& q, const Tensor& k, const Params& params) const override {
    return torch::matmul(project(params.at("V"), q), project(params.at("U"), k).transpose(-1, -2));
  }

 private:
  std::int64_t rank_;
};

}  // namespace

PartInfo low_rank_bilinear() {
  return {
      .id = "low-rank-bilinear",
      .group = Group::score,
      .title = "Low-rank bilinear",
      .formula = R"((U k) \cdot (V q))",
      .paper = "Kim et al. 2017 (low-rank bilinear pooling)",
      .inputs = "query, keys",
      .time = "O((Q d_q + K d_k) r + Q K r)",
      .memory = "O((Q + K) r) fused, O(Q K) reference",
      .advice = "general with fewer parameters, for wide queries and keys",
      .suits = {"few-parameters", "different-widths"},
      .options = {{.name = "rank",
                   .fallback = std::int64_t{0},
                   .doc = "r; 0 = half the narrower of query and key",
                   .min = 0,
                   .max = 65536}},
      .fused = "dot, after U k and V q",
      .make = [](const Options& options) -> std::unique_ptr<Score> {
        return std::make_unique<LowRankBilinear>(options);
      },
  };
}

}  // namespace heed
