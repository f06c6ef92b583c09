// Bottom-up selection: the features themselves say which of them count, without a query.
#include <torch/nn/modules/linear.h>

#include "heed/mechanisms/mechanism.hpp"
#include "mechanisms/pool.hpp"

namespace heed {
namespace {

class Saliency : public Mechanism {
 public:
  explicit Saliency(const MechanismProblem& problem)
      : input_(problem.inputs.front().name), dim_(problem.inputs.front().dim) {}

  Context forward(const Inputs& in, Trace& trace) override {
    const Input x = zero_padding(in[input_]);
    return weighted_sum(x, weights(x), trace["saliency"]);
  }

  std::int64_t output_dim() const override { return dim_; }
  bool uses_query() const override { return false; }

  std::vector<WiringStep> wiring() const override {
    return {{.name = "saliency", .query = "", .keys = input_, .output = "c"},
            {.name = "", .query = "", .keys = "", .output = "c"}};
  }

 protected:
  /// [B, N], or [B, N, D]; what it says of padding does not count.
  virtual Tensor weights(const Input& x) = 0;

  /// 1 for the first of the largest along the positions, 0 for the rest.
  static Tensor winner(const Tensor& strength, const Input& x) {
    if (strength.size(1) == 0) return torch::zeros_like(strength);
    Tensor valid = valid_positions(x);
    Tensor among = strength.detach();
    if (valid.defined()) {
      if (strength.dim() == 3) valid = valid.unsqueeze(-1);
      among = among.masked_fill(valid.logical_not(), -std::numeric_limits<double>::infinity());
    }
    return torch::zeros_like(among).scatter(1, among.argmax(1, true), 1.0);
  }

  std::string input_;
  std::int64_t dim_;
};

class MaxPool : public Saliency {
 public:
  using Saliency::Saliency;

 protected:
  Tensor weights(const Input& x) override { return winner(x.data, x); }
};

class WinnerTakeAll : public Saliency {
 public:
  using Saliency::Saliency;

 protected:
  Tensor weights(const Input& x) override { return winner(x.data.norm(2, -1), x); }
};

class Gate : public Saliency {
 public:
  explicit Gate(const MechanismProblem& problem) : Saliency(problem) {
    const bool each = get<std::string>(problem.options, "for") == "feature";
    gate_ = register_module("gate", torch::nn::Linear(dim_, each ? dim_ : 1));
  }

 protected:
  Tensor weights(const Input& x) override { return torch::sigmoid(gate_->forward(x.data)); }

 private:
  torch::nn::Linear gate_{nullptr};
};

}  // namespace

PartInfo saliency_max_pool() {
  return {
      .id = "saliency.max-pool",
      .group = Group::mechanism,
      .family = "selection",
      .title = "Saliency: max pooling",
      .formula = R"(c_d = \max_l v_{l,d})",
      .paper = "Qiu, NNDL ch. 8",
      .inputs = "one",
      .time = "O(K d)",
      .memory = "O(K d)",
      .advice = "bottom-up: the strongest feature wins",
      .suits = {"no-query"},
      .scored = false,
      .make = makes<MaxPool>(),
  };
}

PartInfo saliency_gate() {
  return {
      .id = "saliency.gate",
      .group = Group::mechanism,
      .family = "selection",
      .title = "Saliency: gates",
      .formula = R"(c = \sum_l \sigma(W_g v_l + b_g) \circ v_l)",
      .paper = "Qiu, NNDL ch. 8",
      .inputs = "one",
      .time = "O(K d²)",
      .memory = "O(K d)",
      .advice = "bottom-up: each feature opens its own gate",
      .suits = {"no-query", "many-at-once"},
      .options = {{.name = "for",
                   .fallback = std::string("feature"),
                   .doc = "a gate for every feature, or one for the whole position",
                   .choices = {"feature", "position"}}},
      .scored = false,
      .make = makes<Gate>(),
  };
}

PartInfo saliency_winner_take_all() {
  return {
      .id = "saliency.winner-take-all",
      .group = Group::mechanism,
      .family = "selection",
      .title = "Saliency: winner takes all",
      .formula = R"(c = v_{\arg\max_l \|v_l\|})",
      .paper = "Qiu, NNDL ch. 8",
      .inputs = "one",
      .time = "O(K d)",
      .memory = "O(K d)",
      .advice = "bottom-up: one position alone",
      .suits = {"no-query", "one-at-a-time"},
      .scored = false,
      .make = makes<WinnerTakeAll>(),
  };
}

}  // namespace heed
