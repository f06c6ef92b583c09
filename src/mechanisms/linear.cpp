#include "heed/attention/linear.hpp"

#include <torch/nn/functional/normalization.h>

#include "heed/base/error.hpp"
#include "heed/mechanisms/attender.hpp"
#include "mechanisms/checks.hpp"
#include "mechanisms/pool.hpp"

namespace heed {
namespace {

// A state that every position changes and asks: causal, O(N), no matrix of weights.
class LinearMechanism : public Mechanism {
 public:
  explicit LinearMechanism(const MechanismProblem& problem)
      : input_(problem.inputs.front().name),
        rule_(get<std::string>(problem.options, "rule")),
        pool_(get<std::string>(problem.options, "pool")),
        gated_(rule_.starts_with("gated")),
        delta_(rule_.ends_with("delta")),
        dim_(problem.inputs.front().dim),
        heads_(head_count(problem, dim_)) {
    check_no_align(problem, "its weights are products, not aligned scores");
    position_ = register_module(
        "position", make_position(problem.parts.position, {.dim = dim_, .score = "linear"}));
    HEED_CHECK(position_->adds() || problem.parts.position.id == "none",
               "mechanism 'linear': position '{}' needs scores; 'sinusoidal' and 'learned' do not",
               problem.parts.position.id);
    using torch::nn::Linear;
    query_ = register_module("W_Q", Linear(dim_, dim_));
    key_ = register_module("W_K", Linear(dim_, dim_));
    value_ = register_module("W_V", Linear(dim_, dim_));
    output_ = register_module("W_O", Linear(dim_, dim_));
    if (gated_) decay_ = register_module("W_G", Linear(dim_, heads_));
    if (delta_) beta_ = register_module("W_B", Linear(dim_, heads_));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    Input x = zero_padding(in[input_]);
    x.data = position_->add(x.data);
    const auto split = [&](const Tensor& y) {
      return y.unflatten(-1, {heads_, y.size(-1) / heads_}).transpose(1, 2);
    };
    const Tensor q = map(split(query_->forward(x.data))), k = map(split(key_->forward(x.data)));
    const Tensor v = split(value_->forward(x.data));
    LinearOptions options{.rule = rule_, .scale = 1.0};
    if (gated_) options.decay = split(torch::log_sigmoid(decay_->forward(x.data)));
    if (delta_) options.beta = split(torch::sigmoid(beta_->forward(x.data))).squeeze(-1);
    const Tensor answers = delta_ ? linear_attend(q, k, v, options).output
                                  : mean_of_values(q, k, v, options, x, trace["linear"]);
    x.data = output_->forward(answers.transpose(1, 2).flatten(2));
    return pool(pool_, x);
  }

  std::int64_t output_dim() const override { return dim_; }
  bool uses_query() const override { return false; }
  bool asks_itself() const override { return true; }
  std::vector<WiringStep> wiring() const override {
    return {{.name = "linear", .query = input_, .keys = input_, .output = "h"},
            {.name = "", .query = "", .keys = "", .output = pool_ + " of h"}};
  }

 private:
  // Positive features where weights are to be means; unit vectors where a step erases along k.
  Tensor map(const Tensor& y) const {
    namespace F = torch::nn::functional;
    if (delta_) return F::normalize(torch::silu(y), F::NormalizeFuncOptions().dim(-1));
    return torch::elu(y) + 1;
  }

  // The rules without erasing are means of the values, under the weights φ(q_i)·φ(k_j) e^{G_i −
  // G_j} over their sum, so they can be seen and replaced. A column of ones sums the weights.
  Tensor mean_of_values(const Tensor& q, const Tensor& k, const Tensor& v,
                        const LinearOptions& options, const Input& x, const TraceSlot& slot) const {
    Tensor given = slot.replacement();
    if (given.defined() && given.dim() == 3) given = given.unsqueeze(1);
    if (slot.wanted()) {
      slot.record({.axes = {"head", "query", "key"},
                   .query_input = x.name,
                   .key_input = x.name,
                   .weights = given.defined() ? given : weights_of(q, k, options, x),
                   .query_lengths = x.lengths,
                   .key_lengths = x.lengths});
    }
    if (given.defined()) return torch::matmul(given, v);
    const Tensor with_ones = torch::cat({v, torch::ones_like(v.narrow(-1, 0, 1))}, -1);
    const Tensor sums = linear_attend(q, k, with_ones, options).output;
    const std::int64_t d = v.size(-1);
    return sums.narrow(-1, 0, d) / sums.narrow(-1, d, 1).clamp_min(1e-20);
  }

  Tensor weights_of(const Tensor& q, const Tensor& k, const LinearOptions& options,
                    const Input& x) const {
    Tensor e = torch::matmul(q, k.transpose(-1, -2));
    if (gated_) {
      const Tensor sum = options.decay.cumsum(2);  // [B, H, N, 1]
      e = e * (sum - sum.transpose(-1, -2)).clamp_max(0).exp();
    }
    e = e.tril();
    if (x.lengths.defined())
      e = e.masked_fill(valid_positions(x).logical_not().unsqueeze(1).unsqueeze(1), 0);
    return e / e.sum(-1, true).clamp_min(1e-20);
  }

  std::string input_, rule_, pool_;
  bool gated_, delta_;
  std::int64_t dim_, heads_;
  std::shared_ptr<Position> position_;
  torch::nn::Linear query_{nullptr}, key_{nullptr}, value_{nullptr}, output_{nullptr};
  torch::nn::Linear decay_{nullptr}, beta_{nullptr};
};

}  // namespace

PartInfo linear_mechanism() {
  return {
      .id = "linear",
      .group = Group::mechanism,
      .family = "more",
      .title = "Linear attention",
      .formula =
          R"(S \leftarrow e^{g} S + \phi(k) \otimes v, \; c = \frac{\phi(q)^\top S}{\phi(q)^\top z}; \quad \text{delta: } S \leftarrow e^{g} S + \beta k \otimes (v - S^\top k))",
      .paper = "Katharopoulos et al. 2020; Yang et al. 2024 (gated, delta rule)",
      .inputs = "one",
      .time = "O(N d² / H)",
      .memory = "O(N d)",
      .advice = "very long sequences, constant memory a step",
      .suits = {"long"},
      .options = {{.name = "rule",
                   .fallback = std::string("linear"),
                   .doc = "how a step changes the state",
                   .choices = {"linear", "gated", "delta", "gated-delta"}},
                  pool_option("last")},
      .fused = "linear",
      .promises = "projections are torch's products",
      .scored = false,
      .make = MakeMechanism([](const MechanismProblem& problem) -> std::shared_ptr<Mechanism> {
        return std::make_shared<LinearMechanism>(problem);
      }),
  };
}

}  // namespace heed
