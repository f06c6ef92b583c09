#include "attention/dropout.hpp"
#include "heed/attention/align.hpp"
#include "heed/attention/registry.hpp"

namespace heed {
namespace {

/// A selector looks at each key and keeps it or not; what it kept is attended to softly. Every
/// query draws its own selection. A row in which nothing was kept attends to nothing and gives 0.
class Reinforced : public Align {
 public:
  explicit Reinforced(const Options& options)
      : act_(get<std::string>(options, "act")),
        hidden_(get<std::int64_t>(options, "hidden")),
        sample_(get<std::string>(options, "mode") == "sample"),
        learning_(choice_learning(options)) {}

  std::vector<ParamInfo> params() const override {
    return {{.name = "Ws", .shape = {"h_s", "d_k"}},
            {.name = "ws", .shape = {"h_s"}},
            {.name = "bs", .shape = {"h_s"}, .init = Init::zeros}};
  }
  Letters default_sizes(const Problem& problem) const override {
    return {{"h_s", hidden_ > 0 ? hidden_ : problem.key_dim}};
  }
  bool sums_to_one() const override { return false; }  // a row may select nothing
  bool has_logp() const override { return true; }
  bool draws() const override { return sample_; }
  std::optional<ChoiceLearning> learning() const override {
    return sample_ ? std::optional(learning_) : std::nullopt;
  }

  Aligned reference(const AlignInput& in, const Params& params) const override {
    const Tensor logit = select_logits(in.key, params).expand_as(in.scores);
    const Tensor p = torch::sigmoid(logit);
    const Tensor selected =
        sample_ ? pair_uniforms(p.detach(), in.seed) < p.detach() : p.detach() > 0.5;
    Aligned out = masked_softmax(in.scores, both(in.keep, selected), in.sink);
    const auto over_keys = [&](const Tensor& x) {
      return (in.keep.defined() ? torch::where(in.keep, x, 0.0) : x).sum(-1);
    };
    const Tensor log_yes = torch::log_sigmoid(logit), log_no = torch::log_sigmoid(-logit);
    out.logp = over_keys(torch::where(selected, log_yes, log_no));
    out.choice_entropy = over_keys(-(p * log_yes + (1 - p) * log_no));
    return out;
  }

 private:
  /// ws · act(Ws k + bs), [B, H, 1 or Q, K] for keys [B, H, 1 or Q, K, d_k].
  Tensor select_logits(const Tensor& key, const Params& params) const {
    const auto of_head = [](const Tensor& x, std::int64_t rank) {  // [H, …] meets [B, H, Q, K, …]
      return x.dim() == rank ? x : x.unsqueeze(1).unsqueeze(1);
    };
    const Tensor& matrix = params.at("Ws");
    const Tensor wide = matrix.dim() == 2 ? matrix : matrix.unsqueeze(1);
    const Tensor hidden = torch::matmul(key, wide.transpose(-1, -2));
    return (activate(act_, hidden + of_head(params.at("bs"), 1)) * of_head(params.at("ws"), 1))
        .sum(-1);
  }

  std::string act_;
  std::int64_t hidden_;
  bool sample_;
  ChoiceLearning learning_;
};

}  // namespace

PartInfo reinforced() {
  return {
      .id = "reinforced",
      .group = Group::align,
      .title = "Reinforced",
      .formula =
          R"(s_l \sim \mathrm{Bernoulli}(\sigma(w_s \cdot \mathrm{act}(W_s k_l + b_s))), \; \mathrm{softmax} \text{ over the selected})",
      .paper = "Shen et al. 2018 (ReSA), section 3",
      .inputs = "scores, keys",
      .time = "O(K d_k h + Q K)",
      .memory = "O(K h + Q K)",
      .advice = "a learned choice of tokens before soft attention; a row that selects none gives 0",
      .suits = {"sparse", "long"},
      .options = {act_option(),
                  {.name = "hidden",
                   .fallback = std::int64_t{0},
                   .doc = "width of the selector's layer; 0 = the keys' width",
                   .min = 0,
                   .max = 65536},
                  {.name = "mode",
                   .fallback = std::string("sample"),
                   .doc = "sample each key by its probability, or take those above 0.5; modules do "
                          "the second outside training",
                   .choices = {"sample", "argmax"}},
                  entropy_option(),
                  baseline_option()},
      .promises = "the selector's products are torch's",
      .make = [](const Options& options) -> std::unique_ptr<Align> {
        return std::make_unique<Reinforced>(options);
      },
  };
}

}  // namespace heed
