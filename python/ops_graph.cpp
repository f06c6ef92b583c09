// torch.ops.heed.graph_*: graph attention as opaque operators. What a compiler must know of them,
// their shapes and their gradients, is said in Python beside the call.
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

std::tuple<Tensor, Tensor, Tensor, Tensor> graph_attend_backward_op(
    const Tensor& grad_output, const Maybe& grad_weights, const Tensor& features,
    const Maybe& target_features, const Tensor& a_source, const Maybe& a_target, const Maybe& seed,
    const Tensor& state, const std::vector<Tensor>& graph, double negative_slope,
    double dropout_p) {
  GraphCall call =
      call_of(features, target_features, a_source, a_target, seed, negative_slope, dropout_p);
  call.graph = graph_of(graph[0], graph[1], graph[2], features.size(0));
  call.graph.out_start = graph[3];
  call.graph.out_target = graph[4], call.graph.out_place = graph[5];
  auto grads =
      call.backward(state, grad_output, grad_weights.value_or(Tensor()), {true, true, true, true});
  for (Tensor& grad : grads) {  // an operator returns tensors: empty for operands that are absent
    if (!grad.defined()) grad = torch::empty({0}, features.options());
  }
  return {grads[0], grads[1], grads[2], grads[3]};
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
      "group_by_target(Tensor edges, int sources, int targets) -> (Tensor, Tensor, Tensor)");
  library.def(
      "group_by_source(Tensor in_start, Tensor in_source, int sources) -> (Tensor, Tensor, "
      "Tensor)");
  library.def(
      "graph_attend(Tensor features, Tensor? target_features, Tensor a_source, Tensor? a_target, "
      "Tensor? seed, Tensor in_start, Tensor in_source, Tensor in_edge, Tensor? out_start, Tensor? "
      "out_target, Tensor? out_place, float negative_slope, float dropout_p) -> (Tensor, Tensor, "
      "Tensor)");
  library.def(
      "graph_attend_backward(Tensor grad_output, Tensor? grad_weights, Tensor features, Tensor? "
      "target_features, Tensor a_source, Tensor? a_target, Tensor? seed, Tensor state, Tensor[] "
      "graph, float negative_slope, float dropout_p) -> (Tensor, Tensor, Tensor, Tensor)");
  library.def(
      "graph_attend_reference(Tensor features, Tensor? target_features, Tensor a_source, Tensor? "
      "a_target, Tensor? seed, Tensor edges, float negative_slope, float dropout_p) -> (Tensor, "
      "Tensor)",
      reference_op);
}

TORCH_LIBRARY_IMPL(heed, CPU, library) {
  library.impl("group_by_target", group_by_target);
  library.impl("group_by_source", group_by_source);
  library.impl("graph_attend", graph_attend_op);
  library.impl("graph_attend_backward", graph_attend_backward_op);
}
