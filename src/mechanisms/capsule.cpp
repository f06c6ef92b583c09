#include <torch/nn/modules/linear.h>

#include "heed/base/error.hpp"
#include "heed/mechanisms/mechanism.hpp"
#include "mechanisms/parts.hpp"

namespace heed {
namespace {

// Wang et al. 2018, section 3.3: max(0, 1 + Σ y_n s_n), y = −1 for the right class, 1 for the rest.
LossTerm hinge(const std::string& name, const Tensor& scores, double weight) {
  return {.name = name, .value = [=](const Tensor& labels) {
            const Tensor right = torch::one_hot(labels, scores.size(1)).to(scores.scalar_type());
            return weight * torch::relu(1 + (scores * (1 - 2 * right)).sum(1)).mean();
          }};
}

/// One module of a mechanism for each class, with its probability p_n = σ(w_n · c_n + b_n) and its
/// reconstruction r_n = p_n c_n. The logits are those of p_n.
class Capsules : public Mechanism {
 public:
  Capsules(const MakeMechanism& make, const MechanismProblem& problem) : inputs_(problem.inputs) {
    const PartInfo& info = mechanism_parts().find(Group::queries, "capsule");
    const Options options = resolve(info, problem.parts.queries.options, "queries");
    routing_ = get<std::int64_t>(options, "routing");
    probability_ = get<double>(options, "probability");
    reconstruction_ = get<double>(options, "reconstruction");
    HEED_CHECK(problem.classes >= 2,
               "queries 'capsule': one module a class needs a task with two classes or more; this "
               "one has {}",
               problem.classes);
    MechanismProblem each = problem;
    each.parts.queries = "singular";
    for (std::int64_t n = 0; n < problem.classes; ++n)
      modules_.push_back(register_module(fmt::format("class_{}", n + 1), make(each)));
    HEED_CHECK(!modules_.front()->gives_logits(),
               "queries 'capsule': mechanism '{}' answers by itself, without a context a class",
               problem.parts.mechanism.id);
    const std::int64_t N = problem.classes, D = modules_.front()->output_dim();
    if (routing_ > 0) {
      route_ = register_parameter("W", torch::randn({N, N, D, D}) / std::sqrt(D));
    } else {
      w_ = register_parameter("w", torch::randn({N, D}) / std::sqrt(D));
      b_ = register_parameter("b", torch::zeros({N}));
    }
    std::int64_t width = 0;
    for (const auto& input : inputs_) width += input.dim;
    if (width != D) instance_ = register_module("instance", torch::nn::Linear(width, D));
  }

  Context forward(const Inputs& in, Trace& trace) override {
    std::vector<Tensor> each;
    for (std::size_t n = 0; n < modules_.size(); ++n) {
      const Trace::Within within(trace, fmt::format("class {}", n + 1));
      each.push_back(modules_[n]->forward(in, trace));
    }
    const Tensor contexts = torch::stack(each, 1);  // [B, N, D]
    const auto [logits, represented] =
        routing_ > 0 ? routed(contexts, trace["routing"]) : judged(contexts);
    if (is_training()) {
      const TraceSlot slot = trace["capsule"];
      slot.add(hinge("probability", torch::sigmoid(logits), probability_));
      slot.add(hinge("reconstruction", torch::matmul(represented, instance(in)).squeeze(-1),
                     reconstruction_));
    }
    return logits;
  }

  std::int64_t output_dim() const override { return static_cast<std::int64_t>(modules_.size()); }
  bool uses_query() const override { return modules_.front()->uses_query(); }
  bool gives_logits() const override { return true; }

  std::vector<WiringStep> wiring() const override {
    std::vector<WiringStep> steps;
    for (std::size_t n = 1; n <= modules_.size(); ++n) {
      for (WiringStep step : modules_[n - 1]->wiring()) {
        if (!step.name.empty()) step.name = fmt::format("class {}/{}", n, step.name);
        step.output = fmt::format("{}^{}", step.output, n);
        steps.push_back(std::move(step));
      }
    }
    steps.push_back({.name = "", .query = "", .keys = "", .output = "p_n = σ(w_n · c^n + b_n)"});
    return steps;
  }

 private:
  struct Judged {
    Tensor logits, represented;  // [B, N], [B, N, D]
  };

  Judged judged(const Tensor& contexts) const {
    const Tensor logits = (contexts * w_).sum(-1) + b_;
    return {logits, torch::sigmoid(logits).unsqueeze(-1) * contexts};
  }

  // Sabour et al. 2017, procedure 1: the classes' contexts are the capsules below, the classes
  // those above. Squashed, a vector s has the length |s|² / (1 + |s|²) = σ(log |s|²).
  Judged routed(const Tensor& contexts, const TraceSlot& slot) const {
    const Tensor votes = torch::einsum("bid,ijde->bije", {contexts, route_});
    const Tensor given = slot.replacement();
    Tensor agreement = torch::zeros_like(votes.select(-1, 0)), coupling, sum, squashed, size;
    for (std::int64_t i = 0; i < routing_; ++i) {
      coupling = given.defined() ? given.view_as(agreement) : torch::softmax(agreement, -1);
      sum = (coupling.unsqueeze(-1) * votes).sum(1);  // [B, N, D]
      size = sum.square().sum(-1, true) + 1e-12;      // a root has no slope at 0
      squashed = sum * size.sqrt() / (1 + size);
      agreement = agreement + (votes * squashed.unsqueeze(1)).sum(-1);
    }
    slot.record({.axes = {"head", "query", "key"},
                 .query_input = "",
                 .key_input = "",
                 .weights = coupling.unsqueeze(1),
                 .query_lengths = {},
                 .key_lengths = {}});
    return {size.squeeze(-1).log(), squashed};
  }

  // What is reconstructed: the mean of all features, [B, D, 1].
  Tensor instance(const Inputs& in) {
    std::vector<Tensor> means;
    for (const auto& input : inputs_) means.push_back(mean(in[input.name]));
    const Tensor all = torch::cat(means, -1);
    return (instance_ ? instance_->forward(all) : all).unsqueeze(-1);
  }

  std::vector<MechanismProblem::NamedWidth> inputs_;
  std::int64_t routing_;
  double probability_, reconstruction_;
  std::vector<std::shared_ptr<Mechanism>> modules_;
  Tensor w_, b_, route_;
  torch::nn::Linear instance_{nullptr};
};

}  // namespace

std::shared_ptr<Mechanism> make_capsules(const MakeMechanism& make,
                                         const MechanismProblem& problem) {
  return std::make_shared<Capsules>(make, problem);
}

}  // namespace heed
