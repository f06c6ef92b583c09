// Structured attention: the weights are marginals of a distribution over structures, whose energies
// are the scores.
#include "mechanisms/structured.hpp"

#include "heed/mechanisms/attender.hpp"
#include "mechanisms/checks.hpp"
#include "mechanisms/pool.hpp"

namespace heed {
namespace {

constexpr const char* kMarginals = "its weights are marginals of its own structure";

// [B, N] → [B, 1, 1, N], to meet scores.
Tensor as_keys(const Tensor& x) { return x.defined() ? x.unsqueeze(1).unsqueeze(1) : x; }

// Selections of positions: one query, a bit a position.
class Selection : public Mechanism {
 public:
  explicit Selection(const MechanismProblem& problem)
      : input_(problem.inputs.front().name), normalise_(get<bool>(problem.options, "normalise")) {
    check_no_align(problem, kMarginals);
    attention_ = register_module("attention",
                                 Attender(problem, problem.query_dim, problem.inputs.front().dim));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    const Input x = zero_padding(in[input_]);
    const Tensor valid = as_keys(valid_positions(x));
    Asking asking{.query = {.data = in.query, .lengths = {}, .name = ""}, .keys = x};
    asking.weigh = [&](const Tensor& scores) {
      const Tensor a = marginals(scores, valid);
      return normalise_ ? a / a.sum(-1, true).clamp_min(1e-9) : a;
    };
    return attention_->attend(asking, trace["selection"]);
  }

  std::int64_t output_dim() const override { return attention_->output_dim(); }
  std::vector<WiringStep> wiring() const override {
    return {{.name = "selection", .query = "q", .keys = input_, .output = "c"},
            {.name = "", .query = "", .keys = "", .output = "c"}};
  }

 protected:
  virtual Tensor marginals(const Tensor& scores, const Tensor& valid) = 0;

 private:
  std::string input_;
  bool normalise_;
  Attender attention_{nullptr};
};

class Chain : public Selection {
 public:
  explicit Chain(const MechanismProblem& problem)
      : Selection(problem), transition_(register_parameter("T", torch::zeros({2, 2}))) {}

 private:
  Tensor marginals(const Tensor& scores, const Tensor& valid) override {
    return chain_marginals(scores, transition_, valid);
  }
  Tensor transition_;
};

class Binomial : public Selection {
 public:
  explicit Binomial(const MechanismProblem& problem)
      : Selection(problem), reach_(get<std::int64_t>(problem.options, "reach")) {
    if (reach_ == 0) return;
    // It starts as the scores alone.
    Tensor start = torch::zeros({1, 1, 2 * reach_ + 1});
    start[0][0][reach_] = 1;
    context_ = register_parameter("neighbours", start);
  }

 private:
  Tensor marginals(const Tensor& scores, const Tensor& valid) override {
    Tensor e = valid.defined() ? scores.masked_fill(valid.logical_not(), 0) : scores;
    if (reach_ > 0 && e.numel() > 0) {
      const Tensor rows = e.reshape({-1, 1, e.size(-1)});
      e = torch::conv1d(rows, context_, {}, 1, reach_).view(e.sizes());
    }
    const Tensor a = torch::sigmoid(e);
    return valid.defined() ? a.masked_fill(valid.logical_not(), 0) : a;
  }
  std::int64_t reach_;
  Tensor context_;
};

// Every word asks for its head; its context is the heads it may have. A row of weights sums to the
// probability that the word is not the root.
class Tree : public Mechanism {
 public:
  explicit Tree(const MechanismProblem& problem)
      : input_(problem.inputs.front().name),
        dim_(problem.inputs.front().dim),
        pool_(get<std::string>(problem.options, "pool")) {
    check_no_align(problem, kMarginals);
    attention_ = register_module("attention", Attender(problem, dim_, dim_));
    root_ = register_module("root", torch::nn::Linear(dim_, 1));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    const Input x = zero_padding(in[input_]);
    const Tensor root = root_->forward(x.data).squeeze(-1);  // [B, N]
    Asking asking{.query = x, .keys = x};
    asking.weigh = [&](const Tensor& scores) {
      const std::int64_t B = scores.size(0), H = scores.size(1), N = scores.size(2);
      const Tensor lengths = x.lengths.defined() ? x.lengths.repeat_interleave(H) : Tensor();
      const TreeMarginals p = tree_marginals(
          scores.flatten(0, 1), root.unsqueeze(1).expand({B, H, N}).flatten(0, 1), lengths);
      return p.heads.view(scores.sizes());
    };
    Input parents = x;
    parents.data = attention_->attend(asking, trace["tree"]);
    return pool(
        pool_,
        {.data = torch::cat({x.data, parents.data}, -1), .lengths = x.lengths, .name = x.name});
  }

  std::int64_t output_dim() const override { return dim_ + attention_->output_dim(); }
  bool uses_query() const override { return false; }
  bool asks_itself() const override { return true; }
  std::vector<WiringStep> wiring() const override {
    return {{.name = "tree", .query = input_, .keys = input_, .output = "p"},
            {.name = "", .query = "", .keys = "", .output = pool_ + " of [x; p]"}};
  }

 private:
  std::string input_;
  std::int64_t dim_;
  std::string pool_;
  Attender attention_{nullptr};
  torch::nn::Linear root_{nullptr};
};

OptionInfo normalise_option() {
  return {.name = "normalise",
          .fallback = false,
          .doc = "divide the weights by their sum: a mean of what is selected, not its sum"};
}

template <class M>
Maker maker() {
  return MakeMechanism([](const MechanismProblem& problem) -> std::shared_ptr<Mechanism> {
    return std::make_shared<M>(problem);
  });
}

constexpr const char* kSelectionMemory = "O(N) beside the scores";

}  // namespace

PartInfo structured_chain() {
  return {
      .id = "structured.chain",
      .group = Group::mechanism,
      .family = "more",
      .title = "Structured: chain",
      .formula =
          R"(a_l = p(z_l = 1), \; p(z) \propto \exp \left( \sum_l z_l e_l + \sum_l T_{z_{l-1} z_l} \right))",
      .paper = "Kim et al. 2017, section 3.1",
      .inputs = "one, and a query",
      .time = "a score a position, O(N log N) for the marginals in O(log N) steps",
      .memory = kSelectionMemory,
      .advice = "contiguous selections: rationales, spans",
      .suits = {"contiguous", "interpretable"},
      .options = {normalise_option()},
      .promises = "marginals are torch's operations",
      .make = maker<Chain>(),
  };
}

PartInfo structured_binomial() {
  return {
      .id = "structured.binomial",
      .group = Group::mechanism,
      .family = "more",
      .title = "Structured: binomial",
      .formula = R"(a_l = p(z_l = 1) = \sigma \left( \sum_{|d| \le r} n_d \, e_{l + d} \right))",
      .paper = "Kim et al. 2017, section 3 (binary selections)",
      .inputs = "one, and a query",
      .time = "a score a position, O(N r)",
      .memory = kSelectionMemory,
      .advice = "independent gates that see the context",
      .suits = {"many-at-once"},
      .options = {normalise_option(),
                  {.name = "reach",
                   .fallback = std::int64_t{1},
                   .doc = "r: neighbours on each side whose scores a gate sees; 0 = its own alone",
                   .min = 0,
                   .max = 64}},
      .promises = "the sum over neighbours is torch's convolution",
      .make = maker<Binomial>(),
  };
}

PartInfo structured_tree() {
  return {
      .id = "structured.tree",
      .group = Group::mechanism,
      .family = "more",
      .title = "Structured: dependency tree",
      .formula =
          R"(a_{ji} = p(i \to j), \; p(z) \propto \exp \left( \sum_{i \to j \in z} e_{ji} + r_{\mathrm{root}(z)} \right) \text{ over projective trees}, \; c_j = [f_j; \sum_i a_{ji} v_i])",
      .paper = "Kim et al. 2017, section 3.2; Eisner 1996",
      .inputs = "one",
      .time = "an attention of N queries, O(N³) for the marginals in O(N) steps",
      .memory = "O(N³)",
      .advice = "heads and dependents; sentences, not documents",
      .suits = {"syntax"},
      .options = {pool_option("mean")},
      .promises = "marginals are torch's operations",
      .make = maker<Tree>(),
  };
}

}  // namespace heed
