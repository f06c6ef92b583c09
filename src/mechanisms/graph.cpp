// Attention of nodes over their neighbours: gat, gatv2, and het-gat with several kinds of edges.
#include "heed/attention/graph.hpp"

#include <torch/nn/init.h>

#include "heed/attention/score.hpp"
#include "heed/base/error.hpp"
#include "heed/mechanisms/attender.hpp"
#include "mechanisms/checks.hpp"

namespace heed {
namespace {

/// What a layer takes and gives. `project` false: its nodes come projected, as sources already.
struct LayerShape {
  std::int64_t input = 0, heads = 1, width = 0;
  bool project = true;
  bool average = false;  // the heads' mean in place of all side by side

  std::int64_t output() const { return average ? width : heads * width; }
};

/// One layer over one kind of edges: heads side by side, or their mean, and a bias.
class GraphLayerImpl : public torch::nn::Module {
 public:
  GraphLayerImpl(const MechanismProblem& problem, bool v2, const LayerShape& shape)
      : v2_(v2),
        shape_(shape),
        negative_slope_(get<double>(problem.options, "negative_slope")),
        dropout_(problem.parts.dropout) {
    const auto matrix = [&](const char* name) {
      torch::nn::Linear linear(
          torch::nn::LinearOptions(shape.input, shape.heads * shape.width).bias(false));
      torch::nn::init::xavier_uniform_(linear->weight);
      return register_module(name, linear);
    };
    const auto vector = [&](const char* name) {
      Tensor a = torch::empty({shape.heads, shape.width});
      return register_parameter(name, torch::nn::init::xavier_uniform_(a));
    };
    if (shape.project) source_ = matrix(v2 ? "W_source" : "W");
    if (v2) target_ = matrix("W_target");
    a_ = vector(v2 ? "a" : "a_source");
    if (!v2) a_target_ = vector("a_target");
    bias_ = register_parameter("b", torch::zeros({shape.output()}));
  }

  /// nodes [N, input] → [N, output]. The map has the caller's edges: [1, heads, E].
  Tensor forward(const Tensor& nodes, const Tensor& edges, const Graph& graph,
                 const TraceSlot& slot) {
    const auto split = [&](const Tensor& x) {
      return x.unflatten(-1, {shape_.heads, shape_.width});
    };
    const Tensor features = split(source_ ? source_->forward(nodes) : nodes);
    GraphOptions options{.score = v2_ ? "gatv2" : "gat",
                         .negative_slope = negative_slope_,
                         .dropout_p = is_training() ? dropout_ : 0};
    (v2_ ? options.a : options.a_source) = a_;
    if (v2_) options.target_features = split(target_->forward(nodes));
    if (!v2_) options.a_target = a_target_;
    GraphResult result;
    if (const Tensor given = slot.replacement(); given.defined()) {
      result.weights = given.dim() == 3 ? given.squeeze(0).t() : given.t();
      const Tensor moved = features.index_select(0, edges[0]) * result.weights.unsqueeze(-1);
      result.output = torch::zeros_like(features).index_add(0, edges[1], moved);
    } else {
      result = graph_attend(features, graph, options);
    }
    slot.record({.axes = {"head", "edge"}, .weights = result.weights.t().unsqueeze(0)});
    return (shape_.average ? result.output.mean(1) : result.output.flatten(1)) + bias_;
  }

 private:
  bool v2_;
  LayerShape shape_;
  double negative_slope_, dropout_;
  torch::nn::Linear source_{nullptr}, target_{nullptr};
  Tensor a_, a_target_, bias_;
};
TORCH_MODULE(GraphLayer);

/// Layers over a graph; what a layer does with its relations is the rest.
class GraphMechanism : public Mechanism {
 public:
  explicit GraphMechanism(const MechanismProblem& problem)
      : layers_(get<std::int64_t>(problem.options, "layers")),
        dim_(problem.inputs.front().dim),
        classes_(get<std::string>(problem.options, "output") == "classes" ? problem.classes : 0),
        input_(problem.inputs.front().name),
        act_(get<std::string>(problem.options, "act")),
        residual_(get<bool>(problem.options, "residual")),
        dropout_(get<double>(problem.options, "dropout")) {
    const std::string& id = problem.parts.mechanism.id;
    HEED_CHECK(problem.parts.position.id == "none",
               "mechanism '{}': nodes have no order; position '{}' has no place in it", id,
               problem.parts.position.id);
    HEED_CHECK(get<std::string>(problem.options, "output") != "classes" || problem.classes > 0,
               "mechanism '{}': output 'classes' needs a task that classifies", id);
    HEED_CHECK(classes_ == 0 || !residual_,
               "mechanism '{}': output 'classes' has another width than its nodes; residual adds "
               "to them",
               id);
  }

  Context forward(const Inputs& in, Trace& trace) override {
    Tensor nodes = in[input_].data;
    HEED_CHECK(nodes.dim() == 2 || (nodes.dim() == 3 && nodes.size(0) == 1),
               "mechanism: input '{}' is {}; a graph is needed, with nodes×width or 1×nodes×width",
               input_, shape_text(nodes));
    if (nodes.dim() == 3) nodes = nodes.squeeze(0);
    for (std::int64_t l = 0; l < layers_; ++l) {
      const Tensor found = layer(l, nodes, in, trace[fmt::format("layer {}", l + 1)]);
      nodes = residual_ ? nodes + found : found;
      if (l + 1 == layers_) break;
      nodes = act_ == "elu" ? torch::elu(nodes) : activate(act_, nodes);
      nodes = torch::dropout(nodes, dropout_, is_training());
    }
    return nodes;
  }

  std::int64_t output_dim() const override { return classes_ > 0 ? classes_ : dim_; }
  bool uses_query() const override { return false; }
  bool gives_logits() const override { return classes_ > 0; }
  std::vector<WiringStep> wiring() const override {
    std::vector<WiringStep> all;
    std::string below = input_;
    for (std::int64_t l = 1; l <= layers_; ++l) {
      const std::string name = fmt::format("layer {}", l), output = fmt::format("h_{}", l);
      for (WiringStep& step : steps(name, below, output)) all.push_back(std::move(step));
      below = output;
    }
    all.push_back({"", "", "", below});
    return all;
  }

 protected:
  /// The attention modules of one layer, from the nodes' neighbours to what it gives.
  virtual std::vector<WiringStep> steps(const std::string& name, const std::string& below,
                                        const std::string& output) const {
    return {{name, below, "neighbours in " + below, output}};
  }
  virtual Tensor layer(std::int64_t l, const Tensor& nodes, const Inputs& in,
                       const TraceSlot& slot) = 0;

  LayerShape shape_of(const MechanismProblem& problem, std::int64_t l) const {
    if (l + 1 == layers_ && classes_ > 0) {
      return {.input = dim_,
              .heads = get<std::int64_t>(problem.options, "output_heads"),
              .width = classes_,
              .average = true};
    }
    const std::int64_t heads = head_count(problem, dim_);
    return {.input = dim_,
            .heads = heads,
            .width = dim_ / heads,
            .project = l > 0 || !get<bool>(problem.options, "projected")};
  }

  // Grouping the edges costs as much as attending, and the graph of a task stays.
  const Graph& grouped(const std::string& relation, const Inputs& in, std::int64_t nodes) {
    const Tensor& edges = in.edges(relation);
    Grouped& kept = grouped_[relation];
    const std::int64_t version = edges.is_inference() ? -1 : edges._version();
    if (!kept.edges.is_same(edges) || kept.version != version || kept.graph.targets != nodes)
      kept = {.edges = edges, .version = version, .graph = Graph(edges, nodes)};
    return kept.graph;
  }

  std::int64_t layers_, dim_, classes_;

 private:
  struct Grouped {
    Tensor edges;
    std::int64_t version = 0;
    Graph graph{};
  };

  std::string input_, act_;
  bool residual_;
  double dropout_;
  std::map<std::string, Grouped> grouped_;
};

class Gat : public GraphMechanism {
 public:
  Gat(const MechanismProblem& problem, bool v2)
      : GraphMechanism(problem), relation_(problem.relations.at(0)) {
    check_no_align(problem, "its weights are a softmax over a node's edges");
    HEED_CHECK(problem.relations.size() == 1,
               "mechanism '{}': it has one kind of edges, given are {}; 'het-gat' takes several",
               problem.parts.mechanism.id, problem.relations.size());
    for (std::int64_t l = 0; l < layers_; ++l) {
      stack_.push_back(register_module(fmt::format("layer_{}", l + 1),
                                       GraphLayer(problem, v2, shape_of(problem, l))));
    }
  }

 private:
  Tensor layer(std::int64_t l, const Tensor& nodes, const Inputs& in,
               const TraceSlot& slot) override {
    return stack_[static_cast<std::size_t>(l)]->forward(
        nodes, in.edges(relation_), grouped(relation_, in, nodes.size(0)), slot);
  }

  std::string relation_;
  std::vector<GraphLayer> stack_;
};

// A graph attention for each relation, then attention over the relations.
class HetGat : public GraphMechanism {
 public:
  explicit HetGat(const MechanismProblem& problem)
      : GraphMechanism(problem),
        relations_(problem.relations),
        per_graph_(get<std::string>(problem.options, "per") == "graph") {
    HEED_CHECK(!relations_.empty(), "mechanism 'het-gat': it needs at least one kind of edges");
    HEED_CHECK(classes_ == 0,
               "mechanism 'het-gat': relations are weighed after their layers; output 'classes' is "
               "for gat and gatv2");
    for (const std::string& relation : relations_) check_name(relation);
    if (per_graph_) check_no_align(problem, "relations are weighed by a softmax for all nodes");
    MechanismProblem over = problem;  // heads are the edges' business
    over.parts.queries = "singular";
    // With the additive score it is the paper's q · tanh(W z + b), which asks with nothing.
    const bool asks = problem.parts.score.id != "additive";
    for (std::int64_t l = 0; l < layers_; ++l) {
      Level level;
      for (const std::string& relation : relations_) {
        level.by_relation.push_back(register_module(
            fmt::format("layer_{}_{}", l + 1, relation),
            GraphLayer(problem, get<bool>(problem.options, "v2"), shape_of(problem, l))));
      }
      if (asks)
        level.query = register_parameter(fmt::format("query_{}", l + 1), torch::randn({dim_}));
      level.choose = register_module(fmt::format("relations_{}", l + 1),
                                     Attender(over, asks ? dim_ : 0, dim_));
      levels_.push_back(level);
    }
  }

 private:
  /// A relation is in the names of modules, in which torch allows no dot, and of maps, where
  /// "layer 1/RELATION" stands beside "layer 1/relations".
  static void check_name(const std::string& relation) {
    HEED_CHECK(relation.find_first_of("./") == std::string::npos,
               "mechanism 'het-gat': relation '{}': neither a dot nor a slash can stand in its "
               "name; rename it",
               relation);
    HEED_CHECK(relation != "relations",
               "mechanism 'het-gat': relation 'relations': this name is taken by the weights of "
               "the relations; rename it");
  }

  struct Level {
    std::vector<GraphLayer> by_relation;
    Tensor query;
    Attender choose{nullptr};
  };

  std::vector<WiringStep> steps(const std::string& name, const std::string& below,
                                const std::string& output) const override {
    std::vector<WiringStep> all;
    std::string found;
    for (const std::string& relation : relations_) {
      all.push_back({name + "/" + relation, below, fmt::format("neighbours in {}", below),
                     output + "_" + relation});
      found += (found.empty() ? "" : ", ") + all.back().output;
    }
    all.push_back({name + "/relations", "", found, output});
    return all;
  }

  Tensor layer(std::int64_t l, const Tensor& nodes, const Inputs& in,
               const TraceSlot& slot) override {
    Level& level = levels_[static_cast<std::size_t>(l)];
    std::vector<Tensor> found;
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      found.push_back(torch::elu(level.by_relation[r]->forward(
          nodes, in.edges(relations_[r]), grouped(relations_[r], in, nodes.size(0)),
          slot[relations_[r]])));
    }
    Asking asking{.query = {},
                  .keys = {.data = torch::stack(found, 1), .lengths = {}, .name = "relations"}};
    if (level.query.defined()) asking.query.data = level.query.expand({nodes.size(0), -1});
    if (per_graph_) {
      asking.weigh = [](const Tensor& scores) {  // [N, 1, 1, R]
        return torch::softmax(scores.mean(0, true), -1).expand(scores.sizes());
      };
    }
    return level.choose->attend(asking, slot["relations"]);
  }

  std::vector<std::string> relations_;
  bool per_graph_;
  std::vector<Level> levels_;
};

std::vector<OptionInfo> graph_options() {
  return {
      {.name = "layers", .fallback = std::int64_t{1}, .doc = "how many", .min = 1, .max = 256},
      {.name = "negative_slope", .fallback = 0.2, .doc = "of the LeakyReLU", .min = 0, .max = 1},
      {.name = "act",
       .fallback = std::string("elu"),
       .doc = "between layers",
       .choices = {"elu", "relu", "tanh", "gelu", "sigmoid", "identity"}},
      {.name = "residual",
       .fallback = false,
       .doc = "a layer adds to its nodes; many layers need it"},
      {.name = "dropout",
       .fallback = 0.0,
       .doc = "on the nodes between layers, in training",
       .min = 0,
       .max = 0.95},
      {.name = "projected",
       .fallback = false,
       .doc = "the nodes come projected: the first layer has no W (in gatv2 no W_s) of its own"},
      {.name = "output",
       .fallback = std::string("nodes"),
       .doc = "the last layer gives nodes, or the classes' logits, as the mean of its heads",
       .choices = {"nodes", "classes"}},
      {.name = "output_heads",
       .fallback = std::int64_t{1},
       .doc = "of that layer with output 'classes'",
       .min = 1,
       .max = 256}};
}

PartInfo graph_info(const char* id, const char* title) {
  return {.id = id,
          .group = Group::mechanism,
          .family = "more",
          .title = title,
          .inputs = "one of nodes, and edges from source to target; self-loops are the caller's",
          .time = "O(N d² + E d) a layer",
          .memory = "O(N d + E H) a layer",
          .options = graph_options(),
          .fused = "graph",
          .promises = "projections are torch's products",
          .takes = {{.edges = true}},
          .scored = false};
}

template <bool v2>
std::shared_ptr<Mechanism> make_gat(const MechanismProblem& problem) {
  return std::make_shared<Gat>(problem, v2);
}

}  // namespace

PartInfo gat() {
  PartInfo info = graph_info("gat", "Graph attention");
  info.formula =
      R"(c_i = \sum_j a_{ij} W h_j, \; e_{ij} = \mathrm{LeakyReLU}(a \cdot [W h_i \| W h_j]))";
  info.paper = "Veličković et al. 2018, eq. 3";
  info.advice = "neighbours in a graph";
  info.suits = {"graph"};
  info.make = MakeMechanism(make_gat<false>);
  return info;
}

PartInfo gatv2() {
  PartInfo info = graph_info("gatv2", "Graph attention, dynamic");
  info.formula =
      R"(c_i = \sum_j a_{ij} W_s h_j, \; e_{ij} = a \cdot \mathrm{LeakyReLU}(W_s h_j + W_t h_i))";
  info.paper = "Brody et al. 2022, eq. 7";
  info.advice = "when which neighbour matters depends on the node";
  info.suits = {"graph"};
  info.make = MakeMechanism(make_gat<true>);
  return info;
}

PartInfo het_gat() {
  PartInfo info = graph_info("het-gat", "Heterogeneous graph attention");
  info.formula =
      R"(c_i = \sum_r \beta_r z_{r,i}, \; z_r = \mathrm{elu}(\mathrm{gat}_r(h)), \; \beta = \mathrm{softmax}_r \left( \tfrac{1}{N} \sum_i \mathrm{score}(z_{r,i}) \right))";
  info.paper = "Wang et al. 2019 (HAN), eq. 7 to 9";
  info.inputs = "one of nodes, and edges of several relations; self-loops are the caller's";
  info.advice = "several kinds of edges, not all of them useful";
  info.suits = {"graph", "relations"};
  info.options.push_back({.name = "per",
                          .fallback = std::string("graph"),
                          .doc = "relations are weighed once for the graph (the paper), or a node",
                          .choices = {"graph", "node"}});
  info.options.push_back(
      {.name = "v2", .fallback = false, .doc = "gatv2 in place of gat inside a relation"});
  info.make = MakeMechanism([](const MechanismProblem& problem) -> std::shared_ptr<Mechanism> {
    return std::make_shared<HetGat>(problem);
  });
  return info;
}

}  // namespace heed
