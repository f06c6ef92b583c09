// The fused kernel behind attend: the same numbers as the reference, and rule 8's bits.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "heed/attention/attention.hpp"
#include "heed/attention/registry.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

double gap(const Tensor& a, const Tensor& b) {
  return a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

/// A random call: every option may be there.
struct Call {
  Tensor q, k, v, bias, sink;
  AttendOptions options;

  explicit Call(std::uint64_t seed) {
    Random random(seed);
    torch::manual_seed(seed);
    const auto pick = [&](std::initializer_list<std::int64_t> from) {
      return *(from.begin() + random.below(from.size()));
    };
    const std::int64_t B = pick({1, 2, 3}), G = pick({1, 2}), H = G * pick({1, 3}),
                       Q = pick({0, 1, 2, 7, 17, 65}), K = pick({0, 1, 3, 16, 33, 130}),
                       D = pick({1, 4, 8, 33}), V = pick({1, 5, 8, 40});
    const auto f64 = torch::kFloat64;
    q = torch::randn({B, Q, H, D}, f64).transpose(1, 2);  // strided
    k = torch::randn({B, G, K, D}, f64);
    v = torch::randn({B, G, K, V}, f64);
    if (random.chance(0.4)) options.mask = torch::rand({B, 1, Q, K}) > 0.4;
    if (random.chance(0.4))
      bias = torch::randn({random.chance(0.5) ? H : 1, Q, random.chance(0.5) ? K : 1}, f64);
    if (random.chance(0.3)) sink = torch::randn({H}, f64);
    if (random.chance(0.3)) options.alibi = torch::rand({H});
    if (random.chance(0.4)) options.lengths = torch::randint(K + 1, {B});
    if (random.chance(0.3))
      options.causal = random.chance(0.5) ? Causal::bottom_right() : Causal::at(pick({-2, 0, 3}));
    if (random.chance(0.3)) options.window = {{pick({-1, 0, 4}), pick({-1, 1, 9})}};
    if (random.chance(0.3)) options.softcap = 3.0;
    if (random.chance(0.3)) options.dropout_p = 0.3, options.seed = seed;
    const char* scores[] = {"scaled-dot",        "dot",
                            "additive",          "additive",
                            "similarity",        "biased-general",
                            "activated-general", "low-rank-bilinear"};
    const std::string score = scores[random.below(8)];
    options.score = score;
    const auto each = [&](std::vector<std::int64_t> shape) {  // shared, or one for each head
      if (random.chance(0.3)) shape.insert(shape.begin(), H);
      return torch::randn(shape, f64);
    };
    const std::int64_t h = pick({1, 6, 8, 13});
    if (score == "additive") {
      options.params = {{"W1", each({h, D})}, {"W2", each({h, D})}, {"w", each({h})}};
      if (random.chance(0.5)) options.params["b"] = each({h});
    }
    if (score.ends_with("ed-general")) {
      options.params = {{"W", each({D, D})},
                        {"b", score == "biased-general" ? each({D}) : each({})}};
    }
    if (score == "low-rank-bilinear") options.params = {{"U", each({h, D})}, {"V", each({h, D})}};
    if (score == "additive" || score == "activated-general") {
      const char* acts[] = {"tanh", "relu", "gelu", "sigmoid", "identity"};
      options.score.options["act"] = std::string(acts[random.below(5)]);
    }
    const char* aligns[] = {"soft",  "sparsemax", "entmax15", "entmax", "sigmoid",
                            "top-k", "hard",      "local-m",  "local-p"};
    const std::string align = aligns[random.chance(0.4) ? 0 : random.below(9)];
    options.align = align;
    if (align == "soft") return;
    sink = Tensor();
    options.seed = seed;
    if (align == "top-k") options.align.options["k"] = pick({1, 3, 20});
    if (align == "hard" && random.chance(0.5)) {
      options.align.options["estimator"] = std::string("straight-through");
    }
    if (align == "local-m" || align == "local-p") options.align.options["D"] = pick({1, 4, 30});
    if (align == "local-p") {
      options.params["Wp"] = torch::randn({5, D}, f64);
      options.params["wp"] = torch::randn({5}, f64);
    }
    if (align == "entmax") {
      options.params["alpha"] = torch::rand({H}, f64) * 0.8 + 1.1;
    }
  }

  std::vector<Tensor> run(Kernel kernel, const Tensor& grad) const {
    std::vector<Tensor> leaves;
    AttendOptions with = options;
    for (const Tensor& x : {q, k, v, bias, sink}) {
      leaves.push_back(x.defined() ? x.detach().clone().set_requires_grad(true) : x);
    }
    with.bias = leaves[3], with.sink = leaves[4], with.kernel = kernel;
    for (auto& [name, x] : with.params) {
      x = x.detach().clone().set_requires_grad(true);
      leaves.push_back(x);
    }
    const Tensor out = attend(leaves[0], leaves[1], leaves[2], with).output;
    out.backward(grad);
    std::vector<Tensor> results = {out.detach()};
    for (const Tensor& x : leaves) {
      if (x.defined()) results.push_back(x.grad().defined() ? x.grad() : torch::zeros_like(x));
    }
    return results;
  }
};

TEST(Fused, EqualsTheReferenceForwardAndBackward) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Call call(seed);
    const Tensor grad = torch::randn(
        {call.q.size(0), call.q.size(1), call.q.size(2), call.v.size(3)}, torch::kFloat64);
    const auto fused = call.run(Kernel::fused, grad), plain = call.run(Kernel::reference, grad);
    ASSERT_EQ(fused.size(), plain.size());
    for (std::size_t i = 0; i < fused.size(); ++i) {
      EXPECT_LT(gap(fused[i], plain[i]), 1e-10) << "seed " << seed << ", result " << i;
    }
  }
}

TEST(Fused, ReductionsEqualTheReferences) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Call call(seed);
    if (call.q.size(2) == 0) continue;
    const std::string& align = call.options.align.id;
    const bool sums = align == "soft" || align.starts_with("local") || align == "top-k";
    call.options.want = {.weights = true,
                         .scores = true,
                         .lse = sums || align == "hard",
                         .logp = align == "hard",
                         .entropy = true,
                         .received = true,
                         .rows = {0}};
    call.options.bias = call.bias, call.options.sink = call.sink;
    call.options.kernel = Kernel::fused;
    const AttendResult a = attend(call.q, call.k, call.v, call.options);
    call.options.kernel = Kernel::reference;
    const AttendResult b = attend(call.q, call.k, call.v, call.options);
    EXPECT_LT(gap(a.weights, b.weights), 1e-12) << seed;
    EXPECT_LT(gap(a.scores, b.scores), 1e-12) << seed;
    EXPECT_LT(gap(a.entropy, b.entropy), 1e-5) << seed;
    EXPECT_LT(gap(a.received, b.received), 1e-4) << seed;
    EXPECT_LT(gap(a.rows, b.rows), 1e-12) << seed;
    if (a.logp.defined()) {
      EXPECT_LT(gap(a.logp, b.logp), 1e-5) << seed;
    }
    if (!a.lse.defined()) continue;
    EXPECT_TRUE(torch::equal(torch::isinf(a.lse), torch::isinf(b.lse))) << seed;
    EXPECT_LT(gap(torch::nan_to_num(a.lse, 0, 0, 0), torch::nan_to_num(b.lse, 0, 0, 0)), 1e-4)
        << seed;
  }
}

TEST(Fused, SameBitsAtAnyThreadCountAndForAnEntryAlone) {
  const int threads = at::get_num_threads();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Call call(seed);
    call.options.dropout_p = 0;  // rule 8 is with dropout and sampling off
    if (call.options.align.id == "hard") call.options.align.options["mode"] = std::string("argmax");
    const Tensor grad = torch::randn(
        {call.q.size(0), call.q.size(1), call.q.size(2), call.v.size(3)}, torch::kFloat64);
    at::set_num_threads(1);
    const auto one = call.run(Kernel::fused, grad);
    at::set_num_threads(2);
    const auto two = call.run(Kernel::fused, grad);
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_TRUE(torch::equal(one[i], two[i])) << seed << " " << i;
    Call alone = call;  // the last entry
    const std::int64_t b = call.q.size(0) - 1;
    for (Tensor* x : {&alone.q, &alone.k, &alone.v}) *x = x->narrow(0, b, 1);
    if (alone.options.mask.defined()) alone.options.mask = alone.options.mask.narrow(0, b, 1);
    if (alone.options.lengths.defined())
      alone.options.lengths = alone.options.lengths.narrow(0, b, 1);
    const auto single = alone.run(Kernel::fused, grad.narrow(0, b, 1));
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_TRUE(torch::equal(one[i].narrow(0, b, 1), single[i])) << seed << " " << i;
  }
  at::set_num_threads(threads);
}

TEST(Fused, GradientsFlowThroughLogSumExpAndLogProbability) {
  for (const std::string align : {"soft", "top-k", "local-m", "hard"}) {
    torch::manual_seed(3);
    const Tensor q = torch::randn({2, 2, 5, 4}, torch::kFloat64),
                 k = torch::randn({2, 2, 7, 4}, torch::kFloat64);
    std::vector<Tensor> results;
    for (const Kernel kernel : {Kernel::fused, Kernel::reference}) {
      const Tensor query = q.clone().set_requires_grad(true);
      const bool hard = align == "hard";
      AttendOptions options{.align = align, .causal = Causal::bottom_right(), .kernel = kernel};
      options.seed = 5;
      options.want = {.lse = !hard, .logp = hard};
      const AttendResult r = attend(query, k, k, options);
      (r.output.sum() + (hard ? r.logp : r.lse).square().sum()).backward();
      results.push_back(query.grad());
    }
    EXPECT_LT(gap(results[0], results[1]), 1e-6) << align;  // these two are float32
  }
}

TEST(Fused, WeightsThatNeedAGradientHaveOne) {
  const Tensor q = torch::randn({1, 2, 3, 4}, torch::kFloat64).set_requires_grad(true);
  const AttendResult plain = attend(q, q, q), r = attend(q, q, q, {.want = {.weights = true}});
  EXPECT_TRUE(torch::equal(plain.output, r.output));
  r.weights.square().sum().backward();
  EXPECT_GT(q.grad().abs().sum().item<double>(), 0);
}

// Rule 10: over 10⁵ outputs the kernel errs at most so many times as the plain formula does.
TEST(Fused, ErrsLittleMoreThanThePlainFormulaInFloat32) {
  for (const PartInfo& score : attention_parts().parts()) {
    if (score.group != Group::score || score.fused.empty()) continue;
    torch::manual_seed(9);
    const Problem sizes{.query_dim = 32, .key_dim = 32, .value_dim = 64, .heads = 2};
    const Tensor q = torch::randn({8, 2, 100, 32}), k = torch::randn({8, 2, 70, 32}),
                 v = torch::randn({8, 2, 70, 64});
    AttendOptions options{.score = score.id};
    for (const SizedParam& param : parameters_of(score.id, "soft", sizes))
      options.params[param.info.name] = param.initial();
    const auto run = [&](Kernel kernel) {
      options.kernel = kernel;
      return attend(q, k, v, options).output;
    };
    const Tensor fused = run(Kernel::fused), plain = run(Kernel::reference);
    AttendOptions exact = options;
    for (auto& [name, x] : exact.params) x = x.to(torch::kFloat64);
    const Tensor truth =
        attend(q.to(torch::kFloat64), k.to(torch::kFloat64), v.to(torch::kFloat64), exact).output;
    const auto error = [&](const Tensor& x) {
      return (x.to(torch::kFloat64) - truth).square().mean().sqrt().item<double>();
    };
    EXPECT_LE(error(fused), score.error_factor * error(plain)) << score.id;
    EXPECT_LE((fused.to(torch::kFloat64) - truth).abs().max().item<double>(),
              score.error_factor * (plain.to(torch::kFloat64) - truth).abs().max().item<double>())
        << score.id;
  }
}

TEST(Fused, UnfusedEqualsTheReferenceForEveryDotForm) {
  for (const std::string score :
       {"general", "biased-general", "activated-general", "low-rank-bilinear", "similarity"}) {
    torch::manual_seed(2);
    const Tensor q = torch::randn({2, 2, 5, 4}, torch::kFloat64),
                 k = torch::randn({2, 2, 7, 4}, torch::kFloat64);
    AttendOptions options{.score = score};
    for (const SizedParam& param :
         parameters_of(score, "soft", {.query_dim = 4, .key_dim = 4, .value_dim = 4}))
      options.params[param.info.name] = torch::randn(param.shape, torch::kFloat64);
    options.kernel = Kernel::unfused;
    const Tensor unfused = attend(q, k, k, options).output;
    options.kernel = Kernel::reference;
    EXPECT_LT(gap(unfused, attend(q, k, k, options).output), 1e-12) << score;
  }
}

TEST(Fused, ASecondDerivativeIsRefused) {
  const Tensor q = torch::randn({1, 1, 3, 4}).set_requires_grad(true);
  EXPECT_THROW(attend(q, q, q).output.sum().backward({}, true, /*create_graph=*/true),
               std::exception);
}

}  // namespace
}  // namespace heed
