#include "heed/mechanisms/attender.hpp"

namespace heed {
namespace {

class CoInteractive : public Mechanism {
 public:
  explicit CoInteractive(const MechanismProblem& problem)
      : first_(problem.inputs[0].name), second_(problem.inputs[1].name) {
    const std::int64_t d1 = problem.inputs[0].dim, d2 = problem.inputs[1].dim;
    to_first_ = register_module("to_first", Attender(problem, d2, d1));
    to_second_ = register_module("to_second", Attender(problem, d1, d2));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    const Input &k1 = in[first_], &k2 = in[second_];
    const Tensor c1 = to_first_->attend(mean(k2), k1, trace[first_]);
    const Tensor c2 = to_second_->attend(mean(k1), k2, trace[second_]);
    return concat({c1, c2});
  }

  std::int64_t output_dim() const override {
    return to_first_->output_dim() + to_second_->output_dim();
  }
  bool uses_query() const override { return false; }

  std::vector<WiringStep> wiring() const override {
    return {{.name = first_, .query = "mean of " + second_, .keys = first_, .output = "c_1"},
            {.name = second_, .query = "mean of " + first_, .keys = second_, .output = "c_2"},
            {.name = "", .query = "", .keys = "", .output = "[c_1; c_2]"}};
  }

 private:
  std::string first_, second_;
  Attender to_first_{nullptr}, to_second_{nullptr};
};

}  // namespace

PartInfo co_interactive() {
  return {
      .id = "co.interactive",
      .group = Group::mechanism,
      .family = "features",
      .title = "Interactive co-attention",
      .formula =
          R"(c_1 = \mathrm{attend}(\bar{k}_2, K_1), \; c_2 = \mathrm{attend}(\bar{k}_1, K_2))",
      .paper = "Ma et al. 2017 (IAN)",
      .inputs = "two",
      .time = "two attentions with one query each",
      .memory = "O(K_1 + K_2)",
      .advice = "coarse and cheap: means ask",
      .suits = {"two-inputs"},
      .takes = {{}, {}},
      .make = makes<CoInteractive>(),
  };
}

}  // namespace heed
