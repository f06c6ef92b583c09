// heed::graph_attend: the fused kernel as a node of torch's graph, or the formula in plain tensor
// operations.
#include "heed/attention/graph.hpp"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/functional/activation.h>

#include "attention/dropout.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class FusedGraph : public torch::autograd::Function<FusedGraph> {
 public:
  static variable_list forward(AutogradContext* ctx, const Tensor& features,
                               const std::optional<Tensor>& target_features, const Tensor& a_source,
                               const std::optional<Tensor>& a_target,
                               const std::shared_ptr<GraphCall>& call) {
    const GraphCall::Forward run = with(*call, {features, target_features.value_or(Tensor()),
                                                a_source, a_target.value_or(Tensor())})
                                       .forward();
    ctx->save_for_backward({features, target_features.value_or(Tensor()), a_source,
                            a_target.value_or(Tensor()), run.state});
    ctx->saved_data["call"] = c10::IValue::make_capsule(c10::make_intrusive<Holder>(call));
    ctx->set_materialize_grads(false);
    return {run.output, run.weights};
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    HEED_CHECK(!torch::GradMode::is_enabled(),
               "graph_attend: the fused kernel has no second derivative; kernel='reference' has");
    const auto saved = ctx->get_saved_variables();
    const auto held = ctx->saved_data["call"].toCapsule();
    GraphCall call =
        with(*static_cast<const Holder&>(*held).call, {saved[0], saved[1], saved[2], saved[3]});
    call.graph.complete();
    std::array<bool, 4> wanted{};
    std::size_t edge = 0;  // absent operands have none
    for (std::size_t i = 0; i < 4; ++i)
      wanted[i] = saved[i].defined() && ctx->needs_input_grad(edge++);
    if (!gradients[0].defined()) {
      gradients[0] = torch::zeros({call.graph.targets, saved[0].size(1), saved[0].size(2)},
                                  saved[0].options());
    }
    const auto grads = call.backward(saved[4], gradients[0], gradients[1], wanted);
    return {grads[0], grads[1], grads[2], grads[3], Tensor()};
  }

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<GraphCall> held) : call(std::move(held)) {}
    std::shared_ptr<GraphCall> call;
  };

  // The node keeps its operands as saved variables, not in the call: no cycle of references.
  static GraphCall with(const GraphCall& call, const std::array<Tensor, 4>& operands) {
    GraphCall full = call;
    full.features = operands[0], full.target_features = operands[1];
    full.a_source = operands[2], full.a_target = operands[3];
    return full;
  }
};

GraphResult graph_fused(GraphCall call) {
  const auto present = [](const Tensor& x) {
    return x.defined() ? std::optional(x) : std::nullopt;
  };
  const Tensor features = std::exchange(call.features, Tensor()),
               a_source = std::exchange(call.a_source, Tensor());
  const auto target = present(std::exchange(call.target_features, Tensor())),
             a_target = present(std::exchange(call.a_target, Tensor()));
  const variable_list run = FusedGraph::apply(features, target, a_source, a_target,
                                              std::make_shared<GraphCall>(std::move(call)));
  return {.output = run[0], .weights = run[1]};
}

/// The formula over `source` and `target`, the ends of each edge.
GraphResult graph_reference(const GraphCall& call, const Tensor& source, const Tensor& target) {
  const auto given = call.features.scalar_type();
  const auto type = given == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
  const Tensor s = call.features.to(type).index_select(0, source);
  const Tensor& rows = call.target_features.defined() ? call.target_features : call.features;
  const Tensor t = rows.to(type).index_select(0, target);
  const auto leaky = [&](const Tensor& x) { return torch::leaky_relu(x, call.negative_slope); };
  const Tensor a = call.a_source.to(type);
  const std::int64_t M = rows.size(0), H = s.size(1), E = s.size(0);
  const Tensor score = call.gatv2 ? (leaky(s + t) * a).sum(-1)
                                  : leaky((s * a).sum(-1) + (t * call.a_target.to(type)).sum(-1));
  const Tensor none = torch::zeros({M, H}, score.options());
  const Tensor top =
      torch::full_like(none, -std::numeric_limits<double>::infinity())
          .scatter_reduce(0, target.unsqueeze(1).expand({E, H}), score.detach(), "amax");
  const Tensor raised = (score - top.index_select(0, target)).exp();
  const Tensor weights = raised / none.index_add(0, target, raised).index_select(0, target);
  Tensor used = weights;
  if (call.dropout_p > 0) {
    used = used * dropout_mask(weights.view({1, 1, E, H}), call.dropout_p, call.seed).view({E, H});
  }
  const Tensor output =
      torch::zeros({M, H, s.size(2)}, s.options()).index_add(0, target, used.unsqueeze(-1) * s);
  return {.output = output.to(given), .weights = weights.to(given)};
}

GraphCall graph_call_of(const Tensor& features, const GraphOptions& options, const Graph& graph) {
  const std::vector<std::string> scores = {"gat", "gatv2"};
  HEED_CHECK(options.score == "gat" || options.score == "gatv2", "graph_attend: score is '{}'{}",
             options.score, suggestion(options.score, scores));
  const bool gatv2 = options.score == "gatv2";
  HEED_CHECK(!gatv2 || (!options.a_source.defined() && !options.a_target.defined()),
             "graph_attend: score 'gatv2' has one vector, a; a_source and a_target are gat's");
  HEED_CHECK(gatv2 || !options.a.defined(),
             "graph_attend: score 'gat' has two vectors, a_source and a_target; a is gatv2's");
  HEED_CHECK(options.kernel != Kernel::unfused,
             "graph_attend: kernel 'unfused' does not exist; 'fused' and 'reference' do");
  GraphCall call{.features = features,
                 .target_features = options.target_features,
                 .a_source = gatv2 ? options.a : options.a_source,
                 .a_target = options.a_target,
                 .gatv2 = gatv2,
                 .negative_slope = options.negative_slope,
                 .dropout_p = options.dropout_p,
                 .graph = graph};
  call.check();
  if (call.dropout_p > 0) {
    call.seed = options.seed
                    ? *options.seed
                    : static_cast<std::uint64_t>(
                          torch::randint(INT64_MAX, {1}, torch::kInt64).item<std::int64_t>());
  }
  return call;
}

}  // namespace

GraphResult graph_attend(const Tensor& features, const Graph& graph, const GraphOptions& options) {
  GraphCall call = graph_call_of(features, options, graph);
  const torch::Device device = features.device();
  HEED_CHECK(options.kernel != Kernel::fused || device.is_cpu(),
             "graph_attend: kernel 'fused' is for the CPU, features is on {}", device.str());
  if (options.kernel != Kernel::reference && device.is_cpu()) return graph_fused(std::move(call));
  const Tensor degree = graph.in_start.to(torch::kInt64).diff();
  const Tensor place = graph.in_edge.to(torch::kInt64).argsort();  // of each edge of the caller
  const Tensor target = torch::repeat_interleave(degree).index_select(0, place);
  const Tensor source = graph.in_source.to(torch::kInt64).index_select(0, place);
  return graph_reference(call, source.to(device), target.to(device));
}

GraphResult graph_attend(const Tensor& features, const Tensor& edges, const GraphOptions& options) {
  HEED_CHECK(features.defined() && features.dim() == 3,
             "graph_attend: features is {}; needed is nodes×heads×width",
             features.defined() ? shape_text(features) : "missing");
  HEED_CHECK(!edges.defined() || edges.device() == features.device(),
             "graph_attend: edges is on {}, features is on {}; they must agree",
             edges.device().str(), features.device().str());
  const Tensor& targets = options.target_features;
  const bool own = targets.defined() && targets.dim() == 3;
  return graph_attend(features,
                      Graph::by_target(edges, features.size(0), (own ? targets : features).size(0)),
                      options);
}

}  // namespace heed
