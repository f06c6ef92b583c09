#include "heed/mechanisms/mechanism.hpp"

namespace heed {
namespace {

// Attention with all weights equal. It goes through `attend` with given weights, so that its trace
// can be replaced like any other's.
class MeanPool : public Mechanism {
 public:
  explicit MeanPool(const MechanismProblem& problem)
      : input_(problem.inputs.front().name), dim_(problem.inputs.front().dim) {}

  Context forward(const Inputs& in, Trace& trace) override {
    const Input& x = in[input_];
    const TraceSlot slot = trace["mean"];
    Tensor weights = slot.replacement();
    if (!weights.defined()) weights = uniform(x);
    if (weights.dim() == 4) weights = weights.squeeze(1);
    if (weights.dim() == 2) weights = weights.unsqueeze(1);
    slot.record({.axes = {"head", "query", "key"},
                 .key_input = x.name,
                 .weights = weights.unsqueeze(1),
                 .key_lengths = x.lengths});
    return attend({}, x.data, x.data,
                  {.score = "additive", .lengths = x.lengths, .weights = weights})
        .output.squeeze(1);
  }

  std::int64_t output_dim() const override { return dim_; }
  bool uses_query() const override { return false; }

 private:
  static Tensor uniform(const Input& x) {
    const Tensor ones = torch::ones({x.data.size(0), 1, x.data.size(1)}, x.data.options());
    if (!x.lengths.defined()) return ones / x.data.size(1);
    const Tensor each = 1 / x.lengths.clamp_min(1).to(x.data.scalar_type());
    return ones * valid_positions(x).unsqueeze(1) * each.view({-1, 1, 1});
  }

  std::string input_;
  std::int64_t dim_;
};

}  // namespace

PartInfo mean_pool() {
  return {
      .id = "mean-pool",
      .group = Group::mechanism,
      .family = "more",
      .title = "Mean pooling (baseline)",
      .formula = R"(c = \frac{1}{N} \sum_l v_l)",
      .paper = "–",
      .inputs = "one",
      .time = "O(K d)",
      .memory = "O(d)",
      .advice = "the baseline any attention has to beat",
      .make = MakeMechanism(
          [](const MechanismProblem& problem) { return std::make_shared<MeanPool>(problem); }),
  };
}

}  // namespace heed
