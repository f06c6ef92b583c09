#include "attention/reference.hpp"
#include "heed/attention/registry.hpp"
#include "heed/attention/score.hpp"

namespace heed {
namespace {

class Additive : public Score {
 public:
  explicit Additive(const Options& options)
      : act_(get<std::string>(options, "act")), hidden_(get<std::int64_t>(options, "hidden")) {}

  std::vector<ParamInfo> params() const override {
    return {{.name = "W1", .shape = {"h", "d_q"}},
            {.name = "W2", .shape = {"h", "d_k"}},
            {.name = "w", .shape = {"h"}},
            {.name = "b", .shape = {"h"}, .optional = true, .init = Init::zeros}};
  }

  Letters default_sizes(const Problem& problem) const override {
    return {{"h", hidden_ > 0 ? hidden_ : problem.key_dim}};
  }

  bool query_optional() const override { return true; }

  ScoreForm::Kind form() const override { return ScoreForm::Kind::additive; }
  ScoreForm operands(const Tensor& q, const Tensor& k, const Params& params) const override {
    const Tensor keys = project_rows(params.at("W2"), k);
    const auto given = params.find("b");
    const Tensor b = given == params.end() ? Tensor() : given->second;
    Tensor queries;
    if (q.defined()) {
      queries = project_rows(params.at("W1"), q);
    } else {
      const std::int64_t heads = b.defined() && b.dim() == 2 ? b.size(0) : keys.size(1);
      queries =
          torch::zeros({k.size(0), heads, 1, keys.size(3)}, keys.options().requires_grad(false));
    }
    if (b.defined())
      queries = queries + per_head(b);  // mostly fewer than the keys, and of every head
    const auto w = params.find("w");    // multi-dimensional attention has a matrix instead
    return {.query = queries,
            .key = keys,
            .weight = w == params.end() ? Tensor() : w->second,
            .act = act_};
  }

  Tensor reference(const Tensor& q, const Tensor& k, const Params& params) const override {
    Tensor keys = project(params.at("W2"), k);
    if (const auto b = params.find("b"); b != params.end() && b->second.defined()) {
      keys = keys + per_head(b->second);
    }
    Tensor sum = keys.unsqueeze(-3);  // [B, H, 1, K, h]
    if (q.defined()) sum = project(params.at("W1"), q).unsqueeze(-2) + sum;
    const Tensor& w = params.at("w");  // [h], or [H, h] → [H, 1, h, 1]
    return torch::matmul(activate(act_, sum), (w.dim() == 2 ? w.unsqueeze(1) : w).unsqueeze(-1))
        .squeeze(-1);
  }

 private:
  std::string act_;
  std::int64_t hidden_;
};

}  // namespace

PartInfo additive() {
  return {
      .id = "additive",
      .group = Group::score,
      .title = "Additive (concat, MLP)",
      .formula = R"(w \cdot \mathrm{act}(W_1 q + W_2 k + b))",
      .paper = "Bahdanau et al. 2015, appendix A.1.2",
      .inputs = "query (may be absent: the W_1 q term is dropped), keys",
      .time = "O(Q K h + (Q d_q + K d_k) h)",
      .memory = "O((Q + K) h) fused, O(Q K h) reference",
      .advice = "the most flexible of the simple scores; strong with a single learned query",
      .suits = {"flexible", "interpretable"},
      .options = {act_option(),
                  {.name = "hidden",
                   .fallback = std::int64_t{0},
                   .doc = "h, the width of the hidden layer; 0 = the keys' width",
                   .min = 0,
                   .max = 65536}},
      .fused = "additive",
      .error_factor = 4,
      .make = [](const Options& options) -> std::unique_ptr<Score> {
        return std::make_unique<Additive>(options);
      },
  };
}

}  // namespace heed
