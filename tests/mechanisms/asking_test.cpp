// Multiplicity of queries: heads, hops and capsules; and what a mechanism says when it is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>

#include "heed/base/error.hpp"
#include "heed/mechanisms/attender.hpp"
#include "mechanisms/walked.hpp"

namespace heed {
namespace {

using testing::HasSubstr;
using NamedWidths = std::vector<MechanismProblem::NamedWidth>;

constexpr auto kDouble = torch::kFloat64;

Input random_keys() {
  return {.data = torch::randn({2, 5, 6}, kDouble), .lengths = {}, .name = "text"};
}

Tensor soft(const Tensor& q, const Tensor& K) {  // q [B, d], K [B, N, d], plain dot product
  return torch::matmul(torch::softmax(torch::matmul(K, q.unsqueeze(-1)), 1).transpose(1, 2), K)
      .squeeze(1);
}

struct Asked {
  Attender attender{nullptr};
  Input keys;
  Tensor query;

  explicit Asked(PartSpec queries, PartSpec score = "dot", std::int64_t query_dim = 6) {
    torch::manual_seed(8);
    attender = Attender(MechanismProblem{.parts = {.score = std::move(score), .queries = queries}},
                        query_dim, 6);
    attender->to(kDouble);
    keys = random_keys();
    query = torch::randn({2, std::max<std::int64_t>(query_dim, 1)}, kDouble);
  }
  Tensor operator()() {
    Trace quiet;
    return attender->attend(query, keys, quiet["x"]);
  }
  Tensor parameter(const std::string& name) { return attender->named_parameters()[name]; }
};

void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_LT((a - b).abs().max().item<double>(), 1e-12);
}

TEST(MultiHead, EqualsTorchsOwn) {
  Asked asked(PartSpec{"multi-head", {{"heads", std::int64_t{2}}}}, "scaled-dot");
  torch::nn::MultiheadAttention torchs(torch::nn::MultiheadAttentionOptions(6, 2));
  torchs->to(kDouble);
  {
    torch::NoGradGuard fixed;
    const auto stacked = [&](const std::string& what) {
      return torch::cat({asked.parameter("W_Q." + what), asked.parameter("W_K." + what),
                         asked.parameter("W_V." + what)});
    };
    torchs->in_proj_weight.copy_(stacked("weight"));
    torchs->in_proj_bias.copy_(stacked("bias"));
    torchs->out_proj->weight.copy_(asked.parameter("W_O.weight"));
    torchs->out_proj->bias.copy_(asked.parameter("W_O.bias"));
  }
  const Tensor K = asked.keys.data.transpose(0, 1);  // length first
  expect_near(asked(), std::get<0>(torchs->forward(asked.query.unsqueeze(0), K, K)).squeeze(0));
}

TEST(MultiHead, WithoutProjectionsManyQueriesShareKeysAndValues) {
  Asked asked(PartSpec{"multi-head", {{"heads", std::int64_t{3}}, {"projections", false}}});
  EXPECT_EQ(asked.attender->output_dim(), 18);
  const Tensor learned = asked.parameter("queries");
  std::vector<Tensor> each;
  for (std::int64_t m = 0; m < 3; ++m)
    each.push_back(soft(asked.query + learned[m], asked.keys.data));
  expect_near(asked(), torch::cat(each, -1));
  // Given ready made, they are used as they are.
  const Tensor given = torch::randn({2, 3, 1, 6}, kDouble);
  each.clear();
  for (std::int64_t m = 0; m < 3; ++m)
    each.push_back(soft(given.select(1, m).squeeze(1), asked.keys.data));
  asked.query = given;
  expect_near(asked(), torch::cat(each, -1));
  // With none, the learned ones ask alone.
  each.clear();
  for (std::int64_t m = 0; m < 3; ++m)
    each.push_back(soft(learned[m].expand({2, 6}), asked.keys.data));
  asked.query = Tensor();
  expect_near(asked(), torch::cat(each, -1));
}

TEST(MultiHead, AMaskOfEntriesServesAllHeads) {
  for (const bool projections : {true, false}) {
    Asked asked(PartSpec{"multi-head", {{"heads", std::int64_t{2}}, {"projections", projections}}});
    const Tensor all = asked();
    asked.keys.lengths = torch::tensor({5, 2});
    const Tensor by_lengths = asked();
    Trace quiet;
    Asking masked{.query = {.data = asked.query, .lengths = {}, .name = ""}, .keys = asked.keys};
    masked.mask = valid_positions(asked.keys).unsqueeze(1);  // [B, 1, N]
    masked.keys.lengths = Tensor();
    expect_near(asked.attender->attend(masked, quiet["x"]), by_lengths);
    EXPECT_FALSE(torch::allclose(all, by_lengths));
  }
}

TEST(MultiHop, EachLookGuidesTheNext) {
  Asked add(PartSpec{"multi-hop", {{"hops", std::int64_t{3}}}});
  Tensor q = add.query, c;
  for (int hop = 0; hop < 3; ++hop) c = soft(q, add.keys.data), q = q + c;
  expect_near(add(), c);

  Asked linear(PartSpec{"multi-hop", {{"update", "linear"}, {"new_keys", true}}});
  const auto keys = [&](int hop) {
    const std::string name = "W_K" + std::to_string(hop);
    return torch::matmul(linear.keys.data, linear.parameter(name + ".weight").t()) +
           linear.parameter(name + ".bias");
  };
  const auto look = [&](const Tensor& query, const Tensor& K) {
    const Tensor a = torch::softmax(torch::matmul(K, query.unsqueeze(-1)), 1);
    return (a * linear.keys.data).sum(1);
  };
  const Tensor first = look(linear.query, keys(1));
  const Tensor next =
      torch::matmul(torch::cat({linear.query, first}, -1), linear.parameter("update.weight").t()) +
      linear.parameter("update.bias");
  expect_near(linear(), look(next, keys(2)));

  Asked gru(PartSpec{"multi-hop", {{"update", "gru"}}});
  const auto p = [&](const std::string& name) { return gru.parameter("update." + name); };
  c = soft(gru.query, gru.keys.data);
  q = torch::gru_cell(c, gru.query, p("weight_ih"), p("weight_hh"), p("bias_ih"), p("bias_hh"));
  expect_near(gru(), soft(q, gru.keys.data));
}

TEST(MultiHop, TiedValuesAreTheKeysOfTheNextLook) {
  Asked tied(PartSpec{"multi-hop", {{"hops", std::int64_t{2}}, {"tied", true}, {"carry", true}}});
  const auto projected = [&](const std::string& name) {
    return torch::matmul(tied.keys.data, tied.parameter(name + ".weight").t());
  };
  const auto look = [](const Tensor& query, const Tensor& K, const Tensor& V) {
    return (torch::softmax(torch::matmul(K, query.unsqueeze(-1)), 1) * V).sum(1);
  };
  const Tensor next = tied.query + look(tied.query, tied.keys.data, projected("W_1"));
  expect_near(tied(), next + look(next, projected("W_1"), projected("W_2")));
  EXPECT_THROW(Asked(PartSpec{"multi-hop", {{"tied", true}, {"new_keys", true}}}), InputError);
}

TEST(MultiHop, NamesItsLooks) {
  Asked asked(PartSpec{"multi-hop", {{"hops", std::int64_t{3}}}});
  Trace trace = Trace::recording();
  asked.attender->attend(asked.query, asked.keys, trace["attention"]);
  std::vector<std::string> names;
  for (const TraceMap& map : trace.maps()) names.push_back(map.name);
  EXPECT_EQ(names, asked.attender->slots("attention"));
  EXPECT_EQ(names.back(), "attention/hop 3");
}

TEST(Attender, LearnsAQueryWhereTheScoreNeedsOneAndNobodyAsks) {
  Asked asked("singular", "dot", 0);
  asked.query = Tensor();
  expect_near(asked(), soft(asked.parameter("q").expand({2, 6}), asked.keys.data));
  EXPECT_FALSE(Asked("singular", "additive", 0).attender->named_parameters().contains("q"));
}

struct CapsuleTest : testing::Test {
  std::shared_ptr<Mechanism> mechanism;
  Inputs in;
  Tensor data = torch::randn({4, 5, 3}, kDouble);

  void make(Options options) {
    torch::manual_seed(6);
    mechanism = make_mechanism(
        {.parts = {.mechanism = "mean-pool", .queries = {"capsule", std::move(options)}},
         .inputs = {{.name = "text", .dim = 3}},
         .classes = 3});
    mechanism->to(kDouble);
    in.set("text", data);
  }
};

TEST_F(CapsuleTest, AnswersByClassAndHasTheTwoHinges) {
  make({});
  EXPECT_TRUE(mechanism->gives_logits());
  Trace trace;
  const Tensor logits = mechanism->forward(in, trace);
  // Mean pooling has no parameters, so all classes see one context.
  const Tensor c = data.mean(1), w = mechanism->named_parameters()["w"];
  expect_near(logits, torch::matmul(c, w.t()));
  const Tensor labels = torch::tensor({0, 1, 2, 2});
  double probability = 0, reconstruction = 0;
  for (std::int64_t b = 0; b < 4; ++b) {
    double p_sum = 1, r_sum = 1;
    for (std::int64_t n = 0; n < 3; ++n) {
      const double sign = n == labels[b].item<std::int64_t>() ? -1 : 1;
      const double p = 1 / (1 + std::exp(-logits[b][n].item<double>()));
      p_sum += sign * p;
      r_sum += sign * p * c[b].square().sum().item<double>();  // v · (p c), with v = c
    }
    probability += std::max(0.0, p_sum) / 4, reconstruction += std::max(0.0, r_sum) / 4;
  }
  ASSERT_EQ(trace.losses().size(), 2u);
  EXPECT_EQ(trace.losses()[0].name, "capsule/probability");
  EXPECT_NEAR(trace.losses()[0].value(labels).item<double>(), probability, 1e-12);
  EXPECT_NEAR(trace.losses()[1].value(labels).item<double>(), reconstruction, 1e-12);
  mechanism->eval();
  Trace quiet;
  mechanism->forward(in, quiet);
  EXPECT_TRUE(quiet.losses().empty());
}

TEST_F(CapsuleTest, RoutesByAgreement) {
  make({{"routing", std::int64_t{3}}});
  Trace trace;
  const Tensor logits = mechanism->forward(in, trace);
  const Tensor W = mechanism->named_parameters()["W"];  // [below, above, d, d]
  for (std::int64_t b = 0; b < 4; ++b) {
    const Tensor c = data[b].mean(0);
    double agreement[3][3] = {};
    Tensor v[3];
    for (int round = 0; round < 3; ++round) {
      Tensor s[3] = {torch::zeros({3}, kDouble), torch::zeros({3}, kDouble),
                     torch::zeros({3}, kDouble)};
      for (int i = 0; i < 3; ++i) {
        double total = 0;
        for (int j = 0; j < 3; ++j) total += std::exp(agreement[i][j]);
        for (int j = 0; j < 3; ++j)
          s[j] = s[j] + std::exp(agreement[i][j]) / total * torch::matmul(c, W[i][j]);
      }
      for (int j = 0; j < 3; ++j) {
        const double n2 = s[j].square().sum().item<double>();
        v[j] = n2 / (1 + n2) * s[j] / std::sqrt(n2);
      }
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
          agreement[i][j] += torch::dot(torch::matmul(c, W[i][j]), v[j]).item<double>();
    }
    for (int n = 0; n < 3; ++n)
      EXPECT_NEAR(torch::sigmoid(logits[b][n]).item<double>(), v[n].norm().item<double>(), 1e-9);
  }
}

std::string refusal_of(const AttentionSpec& parts, const NamedWidths& inputs,
                       std::int64_t query_dim = 4) {
  try {
    make_mechanism({.parts = parts, .options = {}, .inputs = inputs, .query_dim = query_dim});
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Refusals, SayWhatIsNeededAndWhatThereIs) {
  const NamedWidths text = {{.name = "text", .dim = 4}};
  const NamedWidths pair = {{.name = "text", .dim = 4}, {.name = "question", .dim = 6}};
  EXPECT_EQ(refusal_of({.mechanism = "rotatory"}, text),
            "mechanism 'rotatory': it takes 'left', 'target', 'right'; the task gives 'text'");
  EXPECT_EQ(refusal_of({.mechanism = "co.parallel"}, text),
            "mechanism 'co.parallel': it takes an input, another input; the task gives 'text'");
  EXPECT_EQ(refusal_of({.mechanism = "via-attention"}, pair),
            "mechanism 'via-attention': it takes an input, 'characters'; the task gives 'text', "
            "'question'");
  EXPECT_THAT(
      refusal_of({.mechanism = "hierarchical"}, text),
      HasSubstr("it takes an input in levels (words in sentences …); the task gives 'text'"));
  EXPECT_THAT(refusal_of({.mechanism = "singular"}, {}), HasSubstr("the task gives nothing"));
  EXPECT_THAT(refusal_of({.mechanism = "co.interactive", .score = "dot"}, pair),
              HasSubstr("query width 6 differs from key width 4"));
  EXPECT_THAT(refusal_of({.mechanism = {"co.parallel", {{"affinity", "trilinear"}}}}, pair),
              HasSubstr("4 and 6 wide"));
  EXPECT_THAT(refusal_of({.queries = "capsule"}, text), HasSubstr("two classes or more"));
  EXPECT_THAT(refusal_of({.queries = "multi-hop"}, text, 5),
              HasSubstr("they are 5 and 4; 'linear'"));
  EXPECT_THAT(refusal_of({.mechanism = {"rotatory", {{"hop", std::int64_t{2}}}}}, text),
              HasSubstr("did you mean 'hops'?"));
}

}  // namespace
}  // namespace heed
