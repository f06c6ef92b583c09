#include "mechanisms/pool.hpp"

namespace heed {
namespace {

// The last valid feature vector: what an encoder gives when nothing attends.
class NoAttention : public Mechanism {
 public:
  explicit NoAttention(const MechanismProblem& problem)
      : input_(problem.inputs.front().name), dim_(problem.inputs.front().dim) {}

  Context forward(const Inputs& in, Trace&) override { return pool("last", in[input_]); }

  std::int64_t output_dim() const override { return dim_; }
  bool uses_query() const override { return false; }
  std::vector<WiringStep> wiring() const override {
    return {{.name = "", .query = "", .keys = "", .output = "last of " + input_}};
  }

 private:
  std::string input_;
  std::int64_t dim_;
};

}  // namespace

PartInfo no_attention() {
  return {
      .id = "no-attention",
      .group = Group::mechanism,
      .family = "more",
      .title = "No attention (baseline)",
      .formula = R"(c = v_N)",
      .paper = "–",
      .inputs = "one",
      .time = "O(d)",
      .memory = "O(d)",
      .advice = "the last state alone: what the encoder does without attention",
      .suits = {"baseline"},
      .scored = false,
      .make = makes<NoAttention>(),
  };
}

}  // namespace heed
