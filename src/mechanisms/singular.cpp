#include "heed/mechanisms/attender.hpp"

namespace heed {
namespace {

class Singular : public Mechanism {
 public:
  explicit Singular(const MechanismProblem& problem) : input_(problem.inputs.front().name) {
    attention_ = register_module("attention",
                                 Attender(problem, problem.query_dim, problem.inputs.front().dim));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    return attention_->attend(in.query, in[input_], trace["attention"]);
  }

  std::int64_t output_dim() const override { return attention_->output_dim(); }

  std::vector<WiringStep> wiring() const override {
    return {{.name = "attention", .query = "q", .keys = input_, .output = "c"},
            {.name = "", .query = "", .keys = "", .output = "c"}};
  }

 private:
  std::string input_;
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
      .suits = {"simple"},
      .make = makes<Singular>(),
  };
}

// NNDL's name, beside saliency, for what the survey calls singular.
PartInfo focus() {
  PartInfo info = singular();
  info.id = "focus";
  info.family = "selection";
  info.title = "Focus (query-driven)";
  info.paper = "Qiu, NNDL ch. 8";
  info.advice = "top-down: a query selects";
  return info;
}

}  // namespace heed
