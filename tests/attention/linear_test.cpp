// Linear attention over tensors: the kernel against the reference, gradients, rule 8 and errors.
#include "heed/attention/linear.hpp"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attention/gradcheck.hpp"
#include "heed/base/error.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

using testing::HasSubstr;

/// A random call; the tensors a gradient may flow to, undefined where absent.
struct LinearAttendCall {
  std::vector<Tensor> tensors;  // query, key, value, decay, beta, state
  LinearOptions options;

  LinearAttendCall(std::uint64_t seed, const std::string& rule) {
    Random random(seed);
    torch::manual_seed(seed);
    const auto pick = [&](std::initializer_list<std::int64_t> from) {
      return *(from.begin() + random.below(from.size()));
    };
    const std::int64_t B = pick({1, 2}), G = pick({1, 2}), H = G * pick({1, 3}),
                       L = pick({0, 1, 3, 17, 33, 40}), D = pick({1, 4, 9}), V = pick({1, 5, 130});
    const auto f64 = torch::kFloat64;
    options.rule = rule;
    const Tensor q = torch::randn({B, L, H, D}, f64).transpose(1, 2);  // strided
    const Tensor k = torch::randn({B, G, L, D}, f64) / std::sqrt(double(D));
    tensors = {q, k, torch::randn({B, G, L, V}, f64), {}, {}, {}};
    if (rule.starts_with("gated"))
      tensors[3] = -torch::rand({B, G, L, random.chance(0.5) ? D : 1}, f64);
    if (rule.ends_with("delta")) tensors[4] = torch::rand({B, G, L}, f64);
    if (random.chance(0.5)) tensors[5] = torch::randn({B, G, D, V}, f64);
    if (random.chance(0.5)) options.scale = 0.7;
  }

  LinearAttendResult attend(const std::vector<Tensor>& x, Kernel kernel) const {
    LinearOptions with = options;
    with.decay = x[3], with.beta = x[4], with.state = x[5], with.kernel = kernel;
    return linear_attend(x[0], x[1], x[2], with);
  }

  /// Output, last state, and gradients to all operands from both.
  std::vector<Tensor> run(Kernel kernel) const {
    std::vector<Tensor> leaves;
    for (const Tensor& x : tensors)
      leaves.push_back(x.defined() ? x.detach().clone().set_requires_grad(true) : x);
    const LinearAttendResult r = attend(leaves, kernel);
    torch::manual_seed(5);
    const Tensor loss = (r.output * torch::randn_like(r.output)).sum() +
                        (r.state * torch::randn_like(r.state)).sum();
    if (loss.requires_grad()) loss.backward();  // no steps, no state: nothing to flow to
    std::vector<Tensor> results = {r.output.detach(), r.state.detach()};
    for (const Tensor& x : leaves) {
      if (x.defined()) results.push_back(x.grad().defined() ? x.grad() : torch::zeros_like(x));
    }
    return results;
  }
};

const char* const kRules[] = {"linear", "gated", "delta", "gated-delta"};

TEST(LinearAttend, EqualsTheReferenceForwardAndBackward) {
  for (std::uint64_t seed = 1; seed <= 32; ++seed) {
    const LinearAttendCall call(seed, kRules[seed % 4]);
    const auto fused = call.run(Kernel::fused), plain = call.run(Kernel::reference);
    ASSERT_EQ(fused.size(), plain.size());
    for (std::size_t i = 0; i < fused.size(); ++i) {
      EXPECT_TRUE(torch::allclose(fused[i], plain[i], 1e-10, 1e-10))
          << "seed " << seed << ", result " << i;
    }
  }
}

TEST(LinearAttend, GradientsEqualCentralDifferences) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    LinearAttendCall call(seed, kRules[seed % 4]);
    for (const bool wide : {false, true}) {
      const auto f64 = torch::kFloat64;
      const std::vector<Tensor> operands = {
          torch::randn({1, 2, 4, 3}, f64),
          torch::randn({1, 1, 4, 3}, f64),
          torch::randn({1, 1, 4, 2}, f64),
          call.tensors[3].defined() ? -torch::rand({1, 1, 4, wide ? 3 : 1}, f64) : Tensor(),
          call.tensors[4].defined() ? torch::rand({1, 1, 4}, f64) : Tensor(),
          torch::randn({1, 1, 3, 2}, f64)};
      std::vector<Tensor> given;
      for (const Tensor& x : operands) {
        if (x.defined()) given.push_back(x);
      }
      for (const Kernel kernel : {Kernel::fused, Kernel::reference}) {
        check_gradients(
            [&](const std::vector<Tensor>& x) {
              std::vector<Tensor> all;
              for (const Tensor& like : operands) {
                const auto next = static_cast<std::size_t>(
                    std::count_if(all.begin(), all.end(), [](auto& y) { return y.defined(); }));
                all.push_back(like.defined() ? x[next] : Tensor());
              }
              const LinearAttendResult r = call.attend(all, kernel);
              return torch::cat({r.output.flatten(), r.state.flatten()});
            },
            given, call.options.rule);
      }
    }
  }
}

TEST(LinearAttend, TakesAGradientAtTheStateAlone) {
  const Tensor q = torch::randn({1, 1, 3, 4}), v = torch::randn({1, 1, 3, 2});
  const Tensor k = torch::randn({1, 1, 3, 4}).set_requires_grad(true);
  linear_attend(q, k, v).state.sum().backward();
  EXPECT_TRUE(torch::allclose(k.grad(), v.sum(-1, true).expand({1, 1, 3, 4})));
}

TEST(LinearAttend, SameBitsAtAnyThreadCountAndForAnEntryAlone) {
  const int threads = at::get_num_threads();
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    LinearAttendCall call(seed, kRules[seed % 4]);
    at::set_num_threads(1);
    const auto one = call.run(Kernel::fused);
    at::set_num_threads(2);
    const auto two = call.run(Kernel::fused);
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_TRUE(torch::equal(one[i], two[i])) << seed << " " << i;
    const auto entry = [](const Tensor& x) { return x.defined() ? x.narrow(0, 0, 1) : x; };
    LinearAttendCall alone = call;
    for (Tensor& x : alone.tensors) x = entry(x);
    const auto part = alone.attend(alone.tensors, Kernel::fused);
    EXPECT_TRUE(torch::equal(part.output, entry(one[0]))) << seed;
    EXPECT_TRUE(torch::equal(part.state, entry(one[1]))) << seed;
  }
  at::set_num_threads(threads);
}

TEST(LinearAttend, LowPrecisionKeepsItsStateInFloat32) {
  for (const auto type : {torch::kBFloat16, torch::kFloat16}) {
    const Tensor q = torch::randn({1, 2, 20, 8}).to(type), k = torch::randn({1, 1, 20, 8}).to(type),
                 v = torch::randn({1, 1, 20, 8}).to(type);
    const Tensor decay = -torch::rand({1, 1, 20, 1});  // float32 beside low-precision keys
    const LinearOptions options{.rule = "gated", .decay = decay};
    const LinearAttendResult r = linear_attend(q, k, v, options);
    const LinearAttendResult wide =
        linear_attend(q.to(torch::kFloat32), k.to(torch::kFloat32), v.to(torch::kFloat32), options);
    EXPECT_EQ(r.output.scalar_type(), type);
    EXPECT_EQ(r.state.scalar_type(), torch::kFloat32);
    EXPECT_TRUE(torch::equal(r.state, wide.state));
    EXPECT_TRUE(torch::equal(r.output, wide.output.to(type)));
  }
}

struct LinearErrors : testing::Test {
  Tensor q = torch::randn({2, 4, 5, 8}), k = torch::randn({2, 2, 5, 8}),
         v = torch::randn({2, 2, 5, 6}), decay = -torch::rand({2, 2, 5, 1}),
         beta = torch::rand({2, 2, 5});

  std::string of(const LinearOptions& options) { return of(q, k, v, options); }
  static std::string of(const Tensor& query, const Tensor& key, const Tensor& value,
                        const LinearOptions& options = {}) {
    try {
      linear_attend(query, key, value, options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(LinearErrors, NameShapesThatDisagree) {
  EXPECT_THAT(of(q[0], k, v), HasSubstr("query is 4×5×8; needed is batch×heads×length×width"));
  EXPECT_THAT(of(q, k, v.narrow(2, 0, 4)), HasSubstr("key is 2×2×5×8, value is 2×2×4×6"));
  EXPECT_THAT(of(q.narrow(2, 0, 4), k, v), HasSubstr("query is 2×4×4×8, key is 2×2×5×8; batch"));
  EXPECT_THAT(of(q.narrow(1, 0, 3), k, v), HasSubstr("query heads must be a multiple"));
  EXPECT_THAT(of({.rule = "gated", .decay = decay.narrow(2, 0, 4)}),
              HasSubstr("decay is 2×2×4×1, key is 2×2×5×8"));
  EXPECT_THAT(of({.rule = "gated", .decay = torch::zeros({2, 2, 5, 3})}),
              HasSubstr("decay is 2×2×5×3, key is 2×2×5×8"));
  EXPECT_THAT(of({.rule = "delta", .beta = beta.unsqueeze(-1)}),
              HasSubstr("beta is 2×2×5×1, key is 2×2×5×8"));
  EXPECT_THAT(of({.state = torch::zeros({2, 2, 6, 8})}),
              HasSubstr("state is 2×2×6×8; needed is batch×heads×d_k×d_v = 2×2×8×6"));
}

TEST_F(LinearErrors, NameWhatARuleNeedsAndTakes) {
  EXPECT_THAT(of({.rule = "gated"}), HasSubstr("rule 'gated' needs decay"));
  EXPECT_THAT(of({.rule = "gated-delta", .decay = decay}),
              HasSubstr("rule 'gated-delta' needs beta"));
  EXPECT_THAT(of({.decay = decay}), HasSubstr("rule 'linear' takes no decay"));
  EXPECT_THAT(of({.rule = "gated", .decay = decay, .beta = beta}),
              HasSubstr("rule 'gated' takes no beta"));
  EXPECT_THAT(of({.rule = "gated_delta"}), HasSubstr("did you mean 'gated-delta'"));
}

TEST_F(LinearErrors, NameTypesDevicesAndNumbers) {
  EXPECT_THAT(of(q.to(torch::kFloat64), k, v),
              HasSubstr("query has type Double, key has type Float"));
  EXPECT_THAT(of(q.to(torch::kInt64), k.to(torch::kInt64), v.to(torch::kInt64)),
              HasSubstr("key has type Long; float32"));
  EXPECT_THAT(of({.rule = "delta", .beta = beta.to(torch::kFloat64)}),
              HasSubstr("beta has type Double, key has type Float"));
  EXPECT_THAT(of({.state = torch::zeros({2, 2, 8, 6}, torch::kFloat64)}),
              HasSubstr("state has type Double; with Float inputs it must be Float"));
  EXPECT_THAT(of(q.to(torch::kMeta), k, v), HasSubstr("query is on meta, key is on cpu"));
  EXPECT_THAT(of({.rule = "delta", .beta = beta.to(torch::kMeta)}), HasSubstr("beta is on meta"));
  EXPECT_THAT(of({.scale = INFINITY}), HasSubstr("scale is inf; it must be finite"));
}

TEST_F(LinearErrors, SecondDerivativesAreRefused) {
  const Tensor leaf = v.clone().set_requires_grad(true);
  const Tensor out = linear_attend(q, k, leaf).output;
  const auto create_graph = [&] {
    torch::autograd::grad({out.square().sum()}, {leaf}, {}, true, /*create_graph=*/true);
  };
  EXPECT_THROW(create_graph(), InputError);
}

}  // namespace
}  // namespace heed
