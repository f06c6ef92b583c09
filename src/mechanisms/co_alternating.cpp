#include "heed/mechanisms/attender.hpp"

namespace heed {
namespace {

class CoAlternating : public Mechanism {
 public:
  explicit CoAlternating(const MechanismProblem& problem)
      : first_(problem.inputs[0].name), second_(problem.inputs[1].name) {
    const std::int64_t d1 = problem.inputs[0].dim, d2 = problem.inputs[1].dim;
    first_alone_ = register_module("first_alone", Attender(problem, 0, d1));
    second_by_first_ =
        register_module("second_by_first", Attender(problem, first_alone_->output_dim(), d2));
    first_by_second_ =
        register_module("first_by_second", Attender(problem, second_by_first_->output_dim(), d1));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    const Input &k1 = in[first_], &k2 = in[second_];
    const Tensor c0 = first_alone_->attend(Tensor(), k1, trace[first_ + " alone"]);
    const Tensor c2 = second_by_first_->attend(c0, k2, trace[second_]);
    const Tensor c1 = first_by_second_->attend(c2, k1, trace[first_]);
    return concat({c1, c2});
  }

  std::int64_t output_dim() const override {
    return first_by_second_->output_dim() + second_by_first_->output_dim();
  }
  bool uses_query() const override { return false; }

  std::vector<WiringStep> wiring() const override {
    return {{.name = first_ + " alone", .query = "", .keys = first_, .output = "c_0"},
            {.name = second_, .query = "c_0", .keys = second_, .output = "c_2"},
            {.name = first_, .query = "c_2", .keys = first_, .output = "c_1"},
            {.name = "", .query = "", .keys = "", .output = "[c_1; c_2]"}};
  }

 private:
  std::string first_, second_;
  Attender first_alone_{nullptr}, second_by_first_{nullptr}, first_by_second_{nullptr};
};

}  // namespace

PartInfo co_alternating() {
  return {
      .id = "co.alternating",
      .group = Group::mechanism,
      .family = "features",
      .title = "Alternating co-attention",
      .formula =
          R"(c_0 = \mathrm{attend}(K_1), \; c_2 = \mathrm{attend}(c_0, K_2), \; c_1 = \mathrm{attend}(c_2, K_1))",
      .paper = "Lu et al. 2016",
      .inputs = "two",
      .time = "three attentions with one query each",
      .memory = "O(K_1 + K_2)",
      .advice = "two inputs that guide each other in turn",
      .suits = {"two-inputs"},
      .takes = {{}, {}},
      .make = makes<CoAlternating>(),
  };
}

}  // namespace heed
