#include "heed/mechanisms/attender.hpp"

namespace heed {
namespace {

class Singular : public Mechanism {
 public:
  explicit Singular(const MechanismProblem& problem)
      : input_(problem.inputs.front().name), dim_(problem.inputs.front().dim) {
    attention_ = register_module("attention", Attender(problem, problem.query_dim, dim_));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    return attention_->attend(in.query, in[input_], trace["attention"]);
  }

  std::int64_t output_dim() const override { return attention_->output_dim(); }

 private:
  std::string input_;
  std::int64_t dim_;
  Attender attention_{nullptr};
};

}  // namespace

PartInfo singular() {
  return {
      .id = "singular",
      .group = Group::mechanism,
      .family = "features",
      .title = "Singular features",
      .formula = R"(c = \sum_l a_l v_l, \; a = \mathrm{align}(\mathrm{score}(q, K)))",
      .paper = "Bahdanau et al. 2015",
      .inputs = "one",
      .time = "one attention",
      .memory = "one attention",
      .advice = "start here: one input, one attention module",
      .make = MakeMechanism(
          [](const MechanismProblem& problem) { return std::make_shared<Singular>(problem); }),
  };
}

}  // namespace heed
