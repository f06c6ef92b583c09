#include "heed/mechanisms/mechanism.hpp"
#include "mechanisms/pool.hpp"

namespace heed {
namespace {

// Attention with all weights equal, so that its trace can be replaced like any other's.
class MeanPool : public Mechanism {
 public:
  explicit MeanPool(const MechanismProblem& problem)
      : input_(problem.inputs.front().name), dim_(problem.inputs.front().dim) {}

  Context forward(const Inputs& in, Trace& trace) override {
    const Input& x = in[input_];
    return weighted_sum(x, uniform(x), trace["mean"]);
  }

  std::int64_t output_dim() const override { return dim_; }
  bool uses_query() const override { return false; }

  std::vector<WiringStep> wiring() const override {
    return {{.name = "mean", .query = "", .keys = input_, .output = "c"},
            {.name = "", .query = "", .keys = "", .output = "c"}};
  }

 private:
  static Tensor uniform(const Input& x) {
    const std::int64_t N = x.data.size(1);
    const Tensor ones = torch::ones({x.data.size(0), N}, x.data.options());
    if (!x.lengths.defined()) return ones / std::max<std::int64_t>(N, 1);
    return ones / x.lengths.clamp_min(1).to(x.data.scalar_type()).unsqueeze(1);
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
      .suits = {"baseline"},
      .scored = false,
      .make = makes<MeanPool>(),
  };
}

}  // namespace heed
