#include "attention/dropout.hpp"
#include "heed/attention/align.hpp"
#include "heed/attention/registry.hpp"

namespace heed {
namespace {

class Hard : public Align {
 public:
  explicit Hard(const Options& options)
      : sample_(get<std::string>(options, "mode") == "sample"),
        through_(get<std::string>(options, "estimator") == "straight-through"),
        learning_(choice_learning(options)) {}

  bool sums_to_one() const override { return true; }
  bool has_logp() const override { return true; }
  bool draws() const override { return sample_; }
  std::optional<ChoiceLearning> learning() const override {
    return sample_ && !through_ ? std::optional(learning_) : std::nullopt;
  }
  bool has_form() const override { return true; }
  AlignForm form(const AlignInput&, const Params&) const override {
    return {.kind = AlignForm::Kind::hard, .sample = sample_, .straight_through = through_};
  }

  Aligned reference(const AlignInput& in, const Params&) const override {
    Aligned soft = masked_softmax(in.scores, in.keep);
    if (in.scores.size(-1) == 0) {
      const Tensor none = torch::zeros_like(soft.lse);
      return {.weights = soft.weights, .lse = soft.lse, .logp = none, .choice_entropy = none};
    }
    const Tensor p = soft.weights.detach();
    Tensor chosen = p.argmax(-1, true);  // the first of the largest
    if (sample_) {
      // The first key whose running sum passes the drawn number; the last with any weight if
      // rounding keeps the sum below it.
      const Tensor uniform = row_uniforms(p, in.seed).unsqueeze(-1);
      const Tensor past = p.cumsum(-1) > uniform * p.sum(-1, true);
      const Tensor last = (p > 0).to(torch::kInt64).cumsum(-1).argmax(-1, true);
      chosen = torch::where(past.any(-1, true), past.to(torch::kInt64).argmax(-1, true), last);
    }
    const Tensor some = p.sum(-1) > 0;
    Tensor hot = torch::zeros_like(p).scatter(-1, chosen, 1.0) * some.unsqueeze(-1);
    const Tensor score = in.scores.gather(-1, chosen).squeeze(-1);
    const Tensor logp =
        torch::where(some, torch::where(some, score, 0.0) - torch::where(some, soft.lse, 0.0), 0.0);
    if (through_) hot = hot + (soft.weights - p);
    // Where the weight is 0 its slope would be 0 · ∞.
    const Tensor safe = torch::where(soft.weights > 0, soft.weights, 1.0);
    return {.weights = hot,
            .lse = soft.lse.detach(),
            .logp = logp,
            .choice_entropy = -torch::xlogy(soft.weights, safe).sum(-1)};
  }

 private:
  bool sample_, through_;
  ChoiceLearning learning_;
};

}  // namespace

PartInfo hard() {
  return {
      .id = "hard",
      .group = Group::align,
      .title = "Hard",
      .formula = R"(l \sim \mathrm{softmax}(e), \; c = v_l)",
      .paper = "Xu et al. 2015, section 4.1",
      .time = "O(Q K)",
      .memory = "O(Q + K) fused, O(Q K) reference",
      .advice =
          "one key decides; want logp and train it by a score-function estimator, or "
          "straight through",
      .suits = {"sparse", "one-at-a-time", "interpretable"},
      .options = {{.name = "mode",
                   .fallback = std::string("sample"),
                   .doc = "sample from softmax(e), or take the largest; modules take the largest "
                          "outside training",
                   .choices = {"sample", "argmax"}},
                  {.name = "estimator",
                   .fallback = std::string("reinforce"),
                   .doc =
                       "where gradients to the scores come from: logp alone, or the softmax's as "
                       "if the choice were soft",
                   .choices = {"reinforce", "straight-through"}},
                  entropy_option(),
                  baseline_option()},
      .fused = "dot, additive",
      .matrices = 9,
      .make = [](const Options& options) -> std::unique_ptr<Align> {
        return std::make_unique<Hard>(options);
      },
  };
}

}  // namespace heed
