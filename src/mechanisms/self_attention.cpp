#include "heed/base/error.hpp"
#include "heed/mechanisms/attender.hpp"
#include "mechanisms/pool.hpp"

namespace heed {
namespace {

// Every position asks all of them; its answers are pooled.
class SelfAttention : public Mechanism {
 public:
  explicit SelfAttention(const MechanismProblem& problem)
      : input_(problem.inputs.front().name),
        pool_(get<std::string>(problem.options, "pool")),
        causal_(get<bool>(problem.options, "causal")) {
    const std::int64_t dim = problem.inputs.front().dim;
    attention_ = register_module("attention", Attender(problem, dim, dim));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    const Input x = zero_padding(in[input_]);
    const Asking asking{.query = x, .keys = x, .causal = causal_ ? Causal::top_left() : Causal()};
    Input answers = x;
    answers.data = attention_->attend(asking, trace["self"]);
    return pool(pool_, answers);
  }

  std::int64_t output_dim() const override { return attention_->output_dim(); }
  bool uses_query() const override { return false; }
  bool asks_itself() const override { return true; }
  std::vector<WiringStep> wiring() const override {
    return {{.name = "self", .query = input_, .keys = input_, .output = "h"},
            {.name = "", .query = "", .keys = "", .output = pool_ + " of h"}};
  }

 private:
  std::string input_, pool_;
  bool causal_;
  Attender attention_{nullptr};
};

// Lin et al. 2017: r learned rows ask tanh(W F), each wants something else. With the score `dot`
// it is the paper's softmax(W_2 tanh(W_1 F)).
class SelfAttentive : public Mechanism {
 public:
  explicit SelfAttentive(const MechanismProblem& problem)
      : input_(problem.inputs.front().name),
        rows_(get<std::int64_t>(problem.options, "rows")),
        penalty_(get<double>(problem.options, "penalty")) {
    HEED_CHECK(!get<bool>(problem.options, "causal"),
               "mechanism 'self-attention': its {} rows have no place in the text, so they cannot "
               "be causal",
               rows_);
    const std::int64_t dim = problem.inputs.front().dim;
    queries_ = register_parameter("rows", torch::randn({rows_, dim}));
    hidden_ =
        register_module("W_1", torch::nn::Linear(torch::nn::LinearOptions(dim, dim).bias(false)));
    attention_ = register_module("attention", Attender(problem, dim, dim, dim));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    const Input x = zero_padding(in[input_]);
    const TraceSlot slot = trace["self"];
    Input keys = x;
    keys.data = torch::tanh(hidden_->forward(x.data));
    Asking asking{
        .query = {.data = queries_.expand({x.data.size(0), -1, -1}), .lengths = {}, .name = ""},
        .keys = keys,
        .values = x.data};
    if (is_training() && penalty_ > 0) {
      asking.see = [&](const Tensor& weights) {
        const Tensor term = penalty_ * redundancy(weights);
        slot.add(LossTerm{.name = "redundancy", .value = [term](const Tensor&) { return term; }});
      };
    }
    return attention_->attend(asking, slot).flatten(1);
  }

  std::int64_t output_dim() const override { return rows_ * attention_->output_dim(); }
  bool uses_query() const override { return false; }
  bool asks_itself() const override { return true; }
  std::vector<WiringStep> wiring() const override {
    return {{.name = "self", .query = "learned rows", .keys = input_, .output = "M"},
            {.name = "", .query = "", .keys = "", .output = "M"}};
  }

 private:
  // ‖A Aᵀ − I‖² of the rows A of each head, mean over batch and heads.
  static Tensor redundancy(const Tensor& weights) {
    const Tensor alike = torch::matmul(weights, weights.transpose(-1, -2)) -
                         torch::eye(weights.size(-2), weights.options());
    return alike.square().sum({-1, -2}).mean();
  }

  std::string input_;
  std::int64_t rows_;
  double penalty_;
  Tensor queries_;
  torch::nn::Linear hidden_{nullptr};
  Attender attention_{nullptr};
};

}  // namespace

PartInfo self_attention() {
  return {
      .id = "self-attention",
      .group = Group::mechanism,
      .family = "more",
      .title = "Self-attention",
      .formula =
          R"(c_i = \mathrm{attend}(f_i, F), \; c = \mathrm{pool}(c_1 \dots c_N); \quad \text{with rows: } c = [A F], \; A = \mathrm{align}(R \tanh(W_1 F)), \; \|A A^\top - I\|_F^2)",
      .paper = "Vaswani et al. 2017, section 3.2; with rows: Lin et al. 2017, eq. 6 and 8",
      .inputs = "one",
      .time = "one attention of N queries, or of r rows",
      .memory = "one attention of N queries, or of r rows",
      .advice = "every position sees every other; a few rows instead: several readings of a text",
      .suits = {"pairs"},
      .options = {pool_option("mean"),
                  {.name = "causal", .fallback = false, .doc = "a position sees those before it"},
                  {.name = "rows",
                   .fallback = std::int64_t{0},
                   .doc = "learned rows that ask in place of the features; 0 = the features ask",
                   .min = 0,
                   .max = 1024},
                  {.name = "penalty",
                   .fallback = 1.0,
                   .doc = "weight of the redundancy of rows in the training loss",
                   .min = 0}},
      .promises = "projections of heads and rows are torch's products",
      .make = MakeMechanism([](const MechanismProblem& problem) -> std::shared_ptr<Mechanism> {
        if (get<std::int64_t>(problem.options, "rows") > 0)
          return std::make_shared<SelfAttentive>(problem);
        return std::make_shared<SelfAttention>(problem);
      }),
  };
}

}  // namespace heed
