// Graph attention's kernels on tensors: grouping, checks, forward and backward.
#include <stdexcept>

#include "attention/kernel_call.hpp"
#include "heed/attention/graph.hpp"
#include "heed/base/error.hpp"
#include "heed/kernels/graph.hpp"

namespace heed {
namespace {

kernels::Type graph_type(torch::ScalarType type) {
  const auto known = kernel_type(type);
  HEED_CHECK(known,
             "graph_attend: features has type {}; needed is float32, float64, bfloat16 or float16",
             torch::toString(type));
  return *known;
}

Tensor index_array(std::int64_t count) { return torch::empty({count}, torch::kInt32); }

kernels::GraphEdges edges_of(const Graph& graph) {
  const auto data = [](const Tensor& x) {
    return x.defined() ? x.const_data_ptr<std::int32_t>() : nullptr;
  };
  return {.sources = graph.sources,
          .targets = graph.targets,
          .edges = graph.edges(),
          .in_start = data(graph.in_start),
          .in_source = data(graph.in_source),
          .in_edge = data(graph.in_edge),
          .out_start = data(graph.out_start),
          .out_target = data(graph.out_target),
          .out_place = data(graph.out_place)};
}

/// The operands as the kernels read them: contiguous. They live as long as the call.
struct GraphOperands {
  explicit GraphOperands(const GraphCall& call)
      : features(call.features.contiguous()), a_source(call.a_source.contiguous()) {
    if (call.target_features.defined()) target = call.target_features.contiguous();
    if (call.a_target.defined()) a_target = call.a_target.contiguous();
    problem = {.type = graph_type(features.scalar_type()),
               .score = call.gatv2 ? kernels::GraphScore::gatv2 : kernels::GraphScore::gat,
               .heads = features.size(1),
               .width = features.size(2),
               .graph = edges_of(call.graph),
               .source = features.const_data_ptr(),
               .own_targets = target.defined(),
               .target = target.defined() ? target.const_data_ptr() : nullptr,
               .a_source = a_source.const_data_ptr(),
               .a_target = a_target.defined() ? a_target.const_data_ptr() : nullptr,
               .negative_slope = call.negative_slope,
               .dropout = call.dropout_p,
               .seed = call.seed};
  }
  torch::TensorOptions working() const {
    return features.options().dtype(features.scalar_type() == torch::kFloat64 ? torch::kFloat64
                                                                              : torch::kFloat32);
  }

  Tensor features, target, a_source, a_target;
  kernels::GraphProblem problem;
};

void check_like_features(const Tensor& x, const char* name, const Tensor& features) {
  HEED_CHECK(x.scalar_type() == features.scalar_type(),
             "graph_attend: {} has type {}, features has type {}; they must agree", name,
             torch::toString(x.scalar_type()), torch::toString(features.scalar_type()));
  HEED_CHECK(x.device() == features.device(),
             "graph_attend: {} is on {}, features is on {}; they must agree", name,
             x.device().str(), features.device().str());
}

void check_graph_vector(const Tensor& x, const char* name, const Tensor& features) {
  HEED_CHECK(x.defined(), "graph_attend: {} is missing; needed is heads×width = {}×{}", name,
             features.size(1), features.size(2));
  HEED_CHECK(x.dim() == 2 && x.size(0) == features.size(1) && x.size(1) == features.size(2),
             "graph_attend: {} is {}, features is {}; needed is heads×width = {}×{}", name,
             shape_text(x), shape_text(features), features.size(1), features.size(2));
  check_like_features(x, name, features);
}

}  // namespace

Graph Graph::by_target(const Tensor& edges, std::int64_t sources, std::int64_t targets) {
  HEED_CHECK(edges.defined() && edges.dim() == 2 && edges.size(0) == 2,
             "graph: edges is {}; needed is 2×E, a row of sources and a row of targets",
             edges.defined() ? shape_text(edges) : "missing");
  HEED_CHECK(edges.scalar_type() == torch::kInt64, "graph: edges has type {}; needed is int64",
             torch::toString(edges.scalar_type()));
  for (const auto& [name, count] : {std::pair{"source", sources}, {"target", targets}}) {
    HEED_CHECK(count >= 0 && count <= std::numeric_limits<std::int32_t>::max(),
               "graph: {} {} nodes (edges is {}); needed is 0 to 2147483647", count, name,
               shape_text(edges));
  }
  Graph graph;
  graph.sources = sources, graph.targets = targets;
  const Tensor given = edges.cpu().contiguous();
  const std::int64_t count = given.size(1);
  const std::int64_t* data = given.const_data_ptr<std::int64_t>();
  try {
    graph.in_start = index_array(targets + 1);
    graph.in_source = index_array(count), graph.in_edge = index_array(count);
    kernels::group_by_target(data, data + count,
                             {.sources = sources, .targets = targets, .edges = count},
                             graph.in_start.mutable_data_ptr<std::int32_t>(),
                             graph.in_source.mutable_data_ptr<std::int32_t>(),
                             graph.in_edge.mutable_data_ptr<std::int32_t>());
  } catch (const std::invalid_argument& error) {
    throw InputError(fmt::format("{} (edges is {})", error.what(), shape_text(edges)));
  }
  return graph;
}

void Graph::complete() {
  if (out_start.defined()) return;
  Tensor start = index_array(sources + 1);
  out_target = index_array(edges()), out_place = index_array(edges());
  kernels::group_by_source(edges_of(*this), start.mutable_data_ptr<std::int32_t>(),
                           out_target.mutable_data_ptr<std::int32_t>(),
                           out_place.mutable_data_ptr<std::int32_t>());
  out_start = start;
}

Graph::Graph(const Tensor& edges, std::int64_t of_sources, std::int64_t of_targets)
    : Graph(by_target(edges, of_sources, of_targets)) {
  complete();
}

void GraphCall::check() const {
  HEED_CHECK(features.defined() && features.dim() == 3,
             "graph_attend: features is {}; needed is nodes×heads×width",
             features.defined() ? shape_text(features) : "missing");
  HEED_CHECK(features.is_floating_point(),
             "graph_attend: features has type {}; a floating-point type is needed",
             torch::toString(features.scalar_type()));
  if (target_features.defined()) {
    const Tensor& t = target_features;
    HEED_CHECK(t.dim() == 3 && t.size(1) == features.size(1) && t.size(2) == features.size(2),
               "graph_attend: target_features is {}, features is {}; heads and width must agree",
               shape_text(t), shape_text(features));
    check_like_features(t, "target_features", features);
  }
  check_graph_vector(a_source, gatv2 ? "a" : "a_source", features);
  if (!gatv2) check_graph_vector(a_target, "a_target", features);
  HEED_CHECK(std::isfinite(negative_slope), "graph_attend: negative_slope is {}; it must be finite",
             negative_slope);
  HEED_CHECK(dropout_p >= 0 && dropout_p < 1, "graph_attend: dropout_p is {}; needed is 0 ≤ p < 1",
             dropout_p);
  const Tensor& t = target_features.defined() ? target_features : features;
  HEED_CHECK(features.size(0) == graph.sources && t.size(0) == graph.targets,
             "graph_attend: the graph has {} source and {} target nodes, features is {}, "
             "target_features is {}",
             graph.sources, graph.targets, shape_text(features),
             target_features.defined() ? shape_text(t) : "absent");
}

GraphCall::Forward GraphCall::forward() const {
  const GraphOperands x(*this);
  const std::int64_t H = features.size(1), D = features.size(2);
  const Forward result{.output = torch::empty({graph.targets, H, D}, features.options()),
                       .weights = torch::empty({graph.edges(), H}, features.options()),
                       .state = torch::empty({graph.targets, 2, H}, x.working())};
  kernels::graph_forward(x.problem, {.out = result.output.mutable_data_ptr(),
                                     .weights = result.weights.mutable_data_ptr(),
                                     .state = result.state.mutable_data_ptr()});
  return result;
}

std::array<Tensor, 4> GraphCall::backward(const Tensor& state, const Tensor& grad_output,
                                          const Tensor& grad_weights,
                                          std::array<bool, 4> wanted) const {
  const GraphOperands x(*this);
  const auto type = features.scalar_type();
  const Tensor out = grad_output.to(type).contiguous();
  const Tensor weights = grad_weights.defined() ? grad_weights.to(type).contiguous() : Tensor();
  const auto room = [](bool want, const Tensor& like, const torch::TensorOptions& options) {
    return want && like.defined() ? torch::empty(like.sizes(), options) : Tensor();
  };
  const auto data = [](const Tensor& t) { return t.defined() ? t.mutable_data_ptr() : nullptr; };
  std::array<Tensor, 4> grads = {room(wanted[0], features, features.options()),
                                 room(wanted[1], target_features, features.options()),
                                 room(wanted[2], a_source, x.working()),
                                 room(wanted[3], a_target, x.working())};
  kernels::graph_backward(x.problem,
                          {.grad_out = out.const_data_ptr(),
                           .grad_weights = weights.defined() ? weights.const_data_ptr() : nullptr,
                           .state = state.const_data_ptr()},
                          {.source = data(grads[0]),
                           .target = data(grads[1]),
                           .a_source = data(grads[2]),
                           .a_target = data(grads[3])});
  for (Tensor& grad : grads) {
    if (grad.defined()) grad = grad.to(type);
  }
  return grads;
}

}  // namespace heed
