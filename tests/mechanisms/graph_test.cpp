#include "heed/attention/graph.hpp"

#include <gmock/gmock.h>

#include "mechanisms/support.hpp"

namespace heed {
namespace {

std::shared_ptr<Mechanism> graph_of(PartSpec mechanism,
                                    std::vector<std::string> relations = {"edges"},
                                    std::int64_t dim = 6, std::int64_t heads = 2) {
  return make_mechanism(
      {.parts = {.mechanism = std::move(mechanism), .queries = {"multi-head", {{"heads", heads}}}},
       .inputs = {{.name = "nodes", .dim = dim}},
       .relations = std::move(relations)});
}

// A self-loop, a pair given twice, and node 4, which nothing reaches.
Tensor small_edges() { return torch::tensor({{0, 1, 2, 3, 3, 0, 2, 4}, {1, 0, 1, 1, 2, 3, 2, 3}}); }

Inputs nodes_of(const Tensor& x, const Tensor& edges) {
  Inputs inputs;
  inputs.set("nodes", x);
  inputs.set_edges("edges", edges);
  return inputs;
}

// A dense softmax over masked pairs in place of edges; no edge stands twice in `edges`.
Tensor dense_gat(bool v2, const Tensor& x, const Tensor& edges,
                 torch::OrderedDict<std::string, Tensor> w) {
  const std::int64_t N = x.size(0), H = 2, d = 3;
  const auto heads = [&](const std::string& name) {
    return torch::matmul(x, w["layer_1." + name + ".weight"].t()).view({N, H, d});
  };
  const Tensor s = heads(v2 ? "W_source" : "W"), t = v2 ? heads("W_target") : s;
  const auto leaky = [](const Tensor& y) { return torch::where(y > 0, y, 0.2 * y); };
  // [target, source, head]
  const Tensor e = v2 ? (leaky(s.unsqueeze(0) + t.unsqueeze(1)) * w["layer_1.a"]).sum(-1)
                      : leaky((s * w["layer_1.a_source"]).sum(-1).unsqueeze(0) +
                              (t * w["layer_1.a_target"]).sum(-1).unsqueeze(1));
  Tensor there = torch::zeros({N, N}, torch::kBool);
  there.index_put_({edges[1], edges[0]}, true);
  const Tensor a = torch::softmax(e.masked_fill(there.logical_not().unsqueeze(-1), -1e300), 1) *
                   there.unsqueeze(-1);
  return torch::einsum("tsh,shd->thd", {a, s}).flatten(1) + w["layer_1.b"];
}

struct EveryGat : testing::TestWithParam<const char*> {};

TEST_P(EveryGat, EqualsTheDenseFormula) {
  torch::manual_seed(8);
  const bool v2 = std::string(GetParam()) == "gatv2";
  const auto mechanism = graph_of(GetParam());
  mechanism->to(kFull);
  for (Tensor& parameter : mechanism->parameters()) parameter.data().normal_();
  const Tensor x = torch::randn({5, 6}, kFull);
  Trace trace = Trace::recording();
  const Tensor c = mechanism->forward(nodes_of(x, small_edges()), trace);
  EXPECT_LT(greatest(c - dense_gat(v2, x, small_edges(), mechanism->named_parameters())), 1e-12);
  // Node 4 has no in-edge: only the bias is left.
  EXPECT_TRUE(torch::equal(c[4], mechanism->named_parameters()["layer_1.b"]));
  const TraceMap& map = trace.map("layer 1");
  EXPECT_EQ(map.axes, (std::vector<std::string>{"head", "edge"}));
  EXPECT_EQ(map.weights.sizes().vec(), (std::vector<std::int64_t>{1, 2, 8}));
  const Tensor sums = torch::zeros({5}, kFull).index_add(0, small_edges()[1], map.weights[0][1]);
  EXPECT_LT(greatest(sums - torch::tensor({1.0, 1.0, 1.0, 1.0, 0.0}, kFull)), 1e-12);
}

TEST_P(EveryGat, GradientsEdgeOrderPoisonAndReplacement) {
  torch::manual_seed(9);
  const auto mechanism = graph_of({GetParam(), {{"layers", std::int64_t{2}}}});
  mechanism->to(kFull);
  // The bias starts where elu bends: an isolated node would sit on the kink.
  for (Tensor& parameter : mechanism->parameters()) parameter.data().normal_();
  const Tensor x = torch::randn({5, 6}, kFull), edges = small_edges();
  Trace quiet;
  const auto run = [&](const std::vector<Tensor>& in) {
    return mechanism->forward(nodes_of(in[0], edges), quiet);
  };
  check_gradients(run, {x}, GetParam());
  check_parameters(*mechanism, [&] { return run({x}); });
  // Edges in another order: the same nodes, and weights in that order.
  const Tensor order = torch::tensor({5, 0, 7, 3, 1, 2, 6, 4});
  Trace first = Trace::recording(), second = Trace::recording();
  const Tensor plain = mechanism->forward(nodes_of(x, edges), first);
  const Tensor moved =
      mechanism->forward(nodes_of(x.unsqueeze(0), edges.index_select(1, order)), second);
  EXPECT_LT(greatest(plain - moved), 1e-12);
  EXPECT_LT(
      greatest(first.map("layer 2").weights.index_select(2, order) - second.map("layer 2").weights),
      1e-12);
  // Its own weights change nothing; others do, and the gradient reaches them.
  Trace replaced;
  const Tensor own = first.map("layer 1").weights.clone().set_requires_grad(true);
  replaced.replace("layer 1", own);
  const Tensor same = mechanism->forward(nodes_of(x, edges), replaced);
  EXPECT_LT(greatest(same - plain), 1e-12);
  same.sin().sum().backward();
  EXPECT_GT(greatest(own.grad()), 0);
  // Self-loops are the caller's: with one, node 4 sees itself.
  const Tensor looped = torch::cat({edges, torch::tensor({{4}, {4}})}, 1);
  EXPECT_GT(greatest(mechanism->forward(nodes_of(x, looped), quiet)[4] - plain[4]), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Scores, EveryGat, testing::Values("gat", "gatv2"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(GraphMechanisms, AResidualLayerAddsToItsNodes) {
  const auto plain = graph_of("gat"), added = graph_of({"gat", {{"residual", true}}});
  torch::NoGradGuard no_grad;
  auto from = plain->named_parameters(), to = added->named_parameters();
  for (auto& item : to) item.value().copy_(from[item.key()]);
  const Tensor x = torch::randn({5, 6});
  Trace trace;
  const Inputs inputs = nodes_of(x, small_edges());
  EXPECT_LT(greatest(added->forward(inputs, trace) - x - plain->forward(inputs, trace)), 1e-6);
}

TEST(HetGat, IsTheSumOfItsRelationsUnderTheirWeights) {
  torch::manual_seed(10);
  for (const std::string per : {"graph", "node"}) {
    const auto mechanism = graph_of({"het-gat", {{"per", per}}}, {"cites", "writes"});
    mechanism->to(kFull);
    for (Tensor& parameter : mechanism->parameters()) parameter.data().normal_();
    const Tensor x = torch::randn({5, 6}, kFull), other = torch::tensor({{1, 2, 4}, {0, 3, 4}});
    const auto inputs = [&](const Tensor& nodes) {
      Inputs in;
      in.set("nodes", nodes);
      in.set_edges("cites", small_edges());
      in.set_edges("writes", other);
      return in;
    };
    Trace trace = Trace::recording(), quiet;
    const Tensor c = mechanism->forward(inputs(x), trace);
    auto w = mechanism->named_parameters();
    std::vector<Tensor> z;
    for (const std::string relation : {"cites", "writes"}) {
      torch::OrderedDict<std::string, Tensor> own;
      for (const auto& item : w) {
        const std::string prefix = "layer_1_" + relation + ".";
        if (item.key().starts_with(prefix))
          own.insert("layer_1." + item.key().substr(prefix.size()), item.value());
      }
      z.push_back(
          torch::elu(dense_gat(false, x, relation == "cites" ? small_edges() : other, own)));
    }
    const Tensor stacked = torch::stack(z, 1);  // [N, R, d]
    const std::string p = "relations_1.attention.";
    const Tensor e = torch::matmul(
        torch::tanh(torch::matmul(stacked, w[p + "W2"].t()) + w[p + "b"]), w[p + "w"]);
    const Tensor beta = torch::softmax(per == "graph" ? e.mean(0, true).expand({5, 2}) : e, -1);
    EXPECT_LT(greatest(c - (beta.unsqueeze(-1) * stacked).sum(1)), 1e-12) << per;
    EXPECT_LT(greatest(trace.map("layer 1/relations").weights.view({5, 2}) - beta), 1e-12);
    EXPECT_EQ(trace.map("layer 1/cites").weights.size(2), 8);
    check_gradients(
        [&](const std::vector<Tensor>& in) { return mechanism->forward(inputs(in[0]), quiet); },
        {x}, "het-gat");
  }
}

TEST(GraphMechanisms, SayWhatIsMissing) {
  const auto mechanism = graph_of("gat");
  Inputs none;
  none.set("nodes", torch::randn({5, 6}));
  Trace trace;
  EXPECT_THAT(refusal([&] { mechanism->forward(none, trace); }),
              testing::HasSubstr("there are no edges 'edges'"));
  EXPECT_THAT(refusal([&] {
                none.set_edges("edges", torch::randn({3, 2}));
              }),
              testing::HasSubstr("needed is 2×edges of int64"));
  EXPECT_THAT(refusal([] {
                graph_of("gat", {"a", "b"});
              }),
              testing::HasSubstr("'het-gat' takes several"));
  for (const std::string name : {"a/b", "a.b", "relations"}) {
    EXPECT_THAT(refusal([&] {
                  graph_of("het-gat", {"cites", name});
                }),
                testing::HasSubstr("relation '" + name + "'"));
  }
}

}  // namespace
}  // namespace heed
