// torch.ops.heed.graph_*: graph attention as opaque operators. What a compiler must know of their
// shapes is said in Python beside the call.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "heed/attention/graph.hpp"
#include "heed/base/error.hpp"

namespace {

using namespace heed;
using Three = std::tuple<Tensor, Tensor, Tensor>;

/// Runs f; a user's mistake becomes a ValueError.
template <class F>
auto with_value_errors(const F& f) {
  try {
    return f();
  } catch (const InputError& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

Three group_by_target(const Tensor& edges, std::int64_t sources, std::int64_t targets) {
  return with_value_errors([&] {
    const Graph graph = Graph::by_target(edges, sources, targets);
    return Three{graph.in_start, graph.in_source, graph.in_edge};
  });
}

Graph graph_of(const Tensor& in_start, const Tensor& in_source, const Tensor& in_edge,
               std::int64_t sources) {
  Graph graph;
  graph.sources = sources, graph.targets = in_start.size(0) - 1;
  graph.in_start = in_start, graph.in_source = in_source, graph.in_edge = in_edge;
  return graph;
}

Three group_by_source(const Tensor& in_start, const Tensor& in_source, std::int64_t sources) {
  Graph graph = graph_of(in_start, in_source, Tensor(), sources);
  graph.complete();
  return {graph.out_start, graph.out_target, graph.out_place};
}

using Maybe = std::optional<Tensor>;

GraphCall call_of(const Tensor& features, const Maybe& target_features, const Tensor& a_source,
                  const Maybe& a_target, const Maybe& seed, double negative_slope,
                  double dropout_p) {
  return {.features = features,
          .target_features = target_features.value_or(Tensor()),
          .a_source = a_source,
          .a_target = a_target.value_or(Tensor()),
          .gatv2 = !a_target.has_value(),
          .negative_slope = negative_slope,
          .dropout_p = dropout_p,
          .seed = seed ? static_cast<std::uint64_t>(seed->item<std::int64_t>()) : 0};
}

Three graph_attend_op(const Tensor& features, const Maybe& target_features, const Tensor& a_source,
                      const Maybe& a_target, const Maybe& seed, const Tensor& in_start,
                      const Tensor& in_source, const Tensor& in_edge, const Maybe& /*out_start*/,
                      const Maybe& /*out_target*/, const Maybe& /*out_place*/,
                      double negative_slope, double dropout_p) {
  return with_value_errors([&] {
    GraphCall call =
        call_of(features, target_features, a_source, a_target, seed, negative_slope, dropout_p);
    call.graph = graph_of(in_start, in_source, in_edge, features.size(0));
    call.check();
    const GraphCall::Forward run = call.forward();
    return Three{run.output, run.weights, run.state};
  });
}

using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Four graph_attend_backward_op(const Tensor& grad_output, const Maybe& grad_weights,
                              const Tensor& features, const Maybe& target_features,
                              const Tensor& a_source, const Maybe& a_target, const Maybe& seed,
                              const Tensor& state, const std::vector<Tensor>& graph,
                              double negative_slope, double dropout_p, std::array<bool, 4> wanted) {
  GraphCall call =
      call_of(features, target_features, a_source, a_target, seed, negative_slope, dropout_p);
  call.graph = graph_of(graph.at(0), graph.at(1), graph.at(2), features.size(0));
  call.graph.out_start = graph.at(3);
  call.graph.out_target = graph.at(4), call.graph.out_place = graph.at(5);
  TORCH_CHECK_VALUE(call.graph.out_start.size(0) == features.size(0) + 1,
                    "graph_attend: the graph has other sources than features has rows");
  auto grads = call.backward(state, grad_output, grad_weights.value_or(Tensor()), wanted);
  for (Tensor& grad : grads) {  // an operator returns tensors: empty where there is no gradient
    if (!grad.defined()) grad = torch::empty({0}, features.options());
  }
  return {grads[0], grads[1], grads[2], grads[3]};
}

template <class F>
c10::TypedOperatorHandle<F> operator_of(const char* name, F* /*its type*/) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<F>();
}

Three group_by_source_op(const Tensor& in_start, const Tensor& in_source, c10::SymInt sources) {
  return group_by_source(in_start, in_source, sources.expect_int());
}

Three group_by_target_op(const Tensor& edges, c10::SymInt sources, c10::SymInt targets) {
  return group_by_target(edges, sources.expect_int(), targets.expect_int());
}

/// The gradient of graph_attend, itself by operators, so that a compiler can trace it.
class GraphAttendNode : public torch::autograd::Function<GraphAttendNode> {
 public:
  using Context = torch::autograd::AutogradContext;
  using List = torch::autograd::variable_list;

  static List forward(Context* ctx, const Tensor& features, const Maybe& target_features,
                      const Tensor& a_source, const Maybe& a_target, const Maybe& seed,
                      const Tensor& in_start, const Tensor& in_source, const Tensor& in_edge,
                      const Maybe& out_start, const Maybe& out_target, const Maybe& out_place,
                      double negative_slope, double dropout_p) {
    const at::AutoDispatchBelowADInplaceOrView below;
    static const auto op = operator_of("heed::graph_attend", &graph_attend_op);
    const auto [output, weights, state] =
        op.call(features, target_features, a_source, a_target, seed, in_start, in_source, in_edge,
                out_start, out_target, out_place, negative_slope, dropout_p);
    List saved = {features,
                  target_features.value_or(Tensor()),
                  a_source,
                  a_target.value_or(Tensor()),
                  seed.value_or(Tensor()),
                  state,
                  in_start,
                  in_source,
                  in_edge};
    for (const Maybe& x : {out_start, out_target, out_place}) saved.push_back(x.value_or(Tensor()));
    ctx->save_for_backward(saved);
    ctx->saved_data["negative_slope"] = negative_slope;
    ctx->saved_data["dropout_p"] = dropout_p;
    ctx->mark_non_differentiable({state});
    ctx->set_materialize_grads(false);
    return {output, weights, state};
  }

  static List backward(Context* ctx, List gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "graph_attend: the fused kernel has no second derivative; kernel='reference' has");
    const List saved = ctx->get_saved_variables();
    const auto maybe = [](const Tensor& x) { return x.defined() ? Maybe(x) : std::nullopt; };
    const Tensor& features = saved[0];
    std::vector<Tensor> graph(saved.begin() + 6, saved.end());
    if (!graph[3].defined()) {
      static const auto group = operator_of("heed::group_by_source", &group_by_source_op);
      std::tie(graph[3], graph[4], graph[5]) = group.call(graph[0], graph[1], features.sym_size(0));
    }
    if (!gradients[0].defined()) {
      gradients[0] = features.new_zeros_symint(
          {graph[0].sym_size(0) - 1, features.sym_size(1), features.sym_size(2)});
    }
    std::array<bool, 4> wanted{};
    std::size_t edge = 0;  // absent operands have none
    for (std::size_t i = 0; i < 4; ++i) {
      wanted[i] = saved[i].defined() && ctx->needs_input_grad(edge++);
    }
    static const auto op = operator_of("heed::graph_attend_backward", &graph_attend_backward_op);
    const auto [source, target, a_source, a_target] = op.call(
        gradients[0], maybe(gradients[1]), features, maybe(saved[1]), saved[2], maybe(saved[3]),
        maybe(saved[4]), saved[5], graph, ctx->saved_data["negative_slope"].toDouble(),
        ctx->saved_data["dropout_p"].toDouble(), wanted);
    List result = {source, target, a_source, a_target};
    for (std::size_t i = 0; i < 4; ++i) {
      if (!wanted[i]) result[i] = Tensor();
    }
    result.resize(13);  // the rest has no gradient
    return result;
  }
};

Three graph_attend_autograd(const Tensor& features, const Maybe& target_features,
                            const Tensor& a_source, const Maybe& a_target, const Maybe& seed,
                            const Tensor& in_start, const Tensor& in_source, const Tensor& in_edge,
                            const Maybe& out_start, const Maybe& out_target, const Maybe& out_place,
                            double negative_slope, double dropout_p) {
  const auto run = GraphAttendNode::apply(features, target_features, a_source, a_target, seed,
                                          in_start, in_source, in_edge, out_start, out_target,
                                          out_place, negative_slope, dropout_p);
  return {run[0], run[1], run[2]};
}

std::tuple<Tensor, Tensor> reference_op(const Tensor& features, const Maybe& target_features,
                                        const Tensor& a_source, const Maybe& a_target,
                                        const Maybe& seed, const Tensor& edges,
                                        double negative_slope, double dropout_p) {
  return with_value_errors([&] {
    GraphOptions options{.score = a_target ? "gat" : "gatv2",
                         .negative_slope = negative_slope,
                         .target_features = target_features.value_or(Tensor()),
                         .dropout_p = dropout_p,
                         .kernel = Kernel::reference};
    (a_target ? options.a_source : options.a) = a_source;
    options.a_target = a_target.value_or(Tensor());
    if (seed) options.seed = static_cast<std::uint64_t>(seed->item<std::int64_t>());
    const GraphResult result = graph_attend(features, edges, options);
    return std::tuple{result.output, result.weights};
  });
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(heed, library) {
  library.def(
      "group_by_target(Tensor edges, SymInt sources, SymInt targets) -> (Tensor, Tensor, Tensor)");
  library.def(
      "group_by_source(Tensor in_start, Tensor in_source, SymInt sources) -> (Tensor, Tensor, "
      "Tensor)");
  library.def(
      "graph_attend(Tensor features, Tensor? target_features, Tensor a_source, Tensor? a_target, "
      "Tensor? seed, Tensor in_start, Tensor in_source, Tensor in_edge, Tensor? out_start, Tensor? "
      "out_target, Tensor? out_place, float negative_slope, float dropout_p) -> (Tensor, Tensor, "
      "Tensor)");
  library.def(
      "graph_attend_backward(Tensor grad_output, Tensor? grad_weights, Tensor features, Tensor? "
      "target_features, Tensor a_source, Tensor? a_target, Tensor? seed, Tensor state, Tensor[] "
      "graph, float negative_slope, float dropout_p, bool[4] wanted) -> (Tensor, Tensor, Tensor, "
      "Tensor)");
  library.def(
      "graph_attend_reference(Tensor features, Tensor? target_features, Tensor a_source, Tensor? "
      "a_target, Tensor? seed, Tensor edges, float negative_slope, float dropout_p) -> (Tensor, "
      "Tensor)",
      reference_op);
}

TORCH_LIBRARY_IMPL(heed, CPU, library) {
  library.impl("group_by_target", group_by_target_op);
  library.impl("group_by_source", group_by_source_op);
  library.impl("graph_attend", graph_attend_op);
  library.impl("graph_attend_backward", graph_attend_backward_op);
}

TORCH_LIBRARY_IMPL(heed, Autograd, library) { library.impl("graph_attend", graph_attend_autograd); }
