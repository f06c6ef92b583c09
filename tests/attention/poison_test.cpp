// NaN and infinity behind a mask never reach an output or a gradient.
#include <gtest/gtest.h>

#include <limits>

#include "heed/attention/attention.hpp"

namespace heed {
namespace {

constexpr double kPoisons[] = {std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()};

struct Case {
  const char* name;
  AttendOptions options;
  Tensor hidden;  // [Q, K], true where a pair is masked in entry 0
};

std::vector<Case> cases() {
  const auto pairs = [](const Tensor& seen) { return seen.logical_not(); };
  const Tensor lower = torch::ones({4, 4}, torch::kBool).tril();
  const Tensor length = torch::arange(4).lt(3).expand({4, 4});
  const Tensor mask =
      torch::tensor({{1, 0, 1, 1}, {0, 0, 0, 0}, {1, 0, 0, 1}, {1, 0, 0, 1}}).to(torch::kBool);
  Tensor bias = torch::zeros({4, 4}, torch::kFloat64).masked_fill(mask.logical_not(), kPoisons[2]);
  return {{"lengths", {.lengths = torch::tensor({3, 4})}, pairs(length)},
          {"causal", {.causal = Causal::same()}, pairs(lower)},
          {"window",
           {.window = {{1, 0}}},
           pairs(lower.logical_and(torch::ones({4, 4}, torch::kBool).triu(-1)))},
          {"mask", {.mask = mask}, pairs(mask)},
          {"bias", {.bias = bias}, pairs(mask)}};
}

struct Parts {
  PartSpec score, align = "soft";
};

// Whatever looks at keys in a way of its own.
const Parts kParts[] = {{"scaled-dot"},
                        {"additive"},
                        {"biased-general"},
                        {"activated-general"},
                        {"low-rank-bilinear"},
                        {"similarity"},
                        {{"similarity", {{"kind", std::string("gaussian")}}}},
                        {"location"},
                        {"dot", {"reinforced", {{"mode", std::string("argmax")}}}}};

TEST(Poison, OfKeysAndValuesStaysBehindEveryMask) {
  for (const Case& c : cases()) {
    for (const Parts& parts : kParts) {
      for (const double poison : kPoisons) {
        for (std::int64_t j = 0; j < 4;
             ++j) {  // poison key j; rows that do not see it must be clean
          torch::manual_seed(1);
          const auto make = [](std::int64_t d) {
            return torch::randn({2, 1, 4, d}, torch::kFloat64);
          };
          Tensor q = make(3), k = make(3), v = make(2);
          AttendOptions options = c.options;
          options.score = parts.score, options.align = parts.align;
          const Problem sizes{.query_dim = 3, .key_dim = 3, .value_dim = 2};
          for (const SizedParam& param : parameters_of(parts.score, parts.align, sizes)) {
            options.params[param.info.name] =
                torch::randn(param.shape, torch::kFloat64).set_requires_grad(true);
          }
          const Tensor clean = attend(q, k, v, options).output;
          k[0][0][j].fill_(poison);
          v[0][0][j].fill_(poison);
          for (Tensor* x : {&q, &k, &v}) x->set_requires_grad(true);
          const Tensor out = attend(q, k, v, options).output;
          const Tensor rows = c.hidden.select(1, j).nonzero().flatten();
          if (rows.numel() == 0) continue;
          const std::string what = std::string(c.name) + " " + parts.score.id + " × " +
                                   parts.align.id + " key " + std::to_string(j);
          const Tensor got = out[0][0].index_select(0, rows);
          EXPECT_TRUE(torch::allclose(got, clean[0][0].index_select(0, rows), 1e-12, 1e-12))
              << what;
          EXPECT_TRUE(torch::equal(out[1], clean[1])) << what << ": the other entry";
          got.sum().backward();  // only the clean rows
          // Rows that do see the key are NaN by right, and so are gradients that pass through them.
          const Tensor query_gradient = q.grad()[0][0].index_select(0, rows);
          EXPECT_TRUE(torch::isfinite(query_gradient).all().item<bool>())
              << what << ": query gradient";
          if (rows.numel() < 4) continue;
          EXPECT_TRUE(torch::isfinite(v.grad()).all().item<bool>()) << what << ": value gradient";
          for (const auto& [name, x] : options.params) {
            if (!x.grad().defined()) continue;  // the selector's
            EXPECT_TRUE(torch::isfinite(x.grad()).all().item<bool>()) << what << ": " << name;
          }
          if (parts.score.id == "location") continue;  // does not look at keys
          EXPECT_TRUE(torch::isfinite(k.grad()).all().item<bool>()) << what << ": key gradient";
          EXPECT_EQ(k.grad()[0][0][j].abs().sum().item<double>(), 0) << what;
        }
      }
    }
  }
}

TEST(Poison, IsNotHiddenWhereAPairTakesPart) {
  Tensor q = torch::randn({1, 1, 2, 3}, torch::kFloat64),
         k = torch::randn({1, 1, 2, 3}, torch::kFloat64), v = k.clone();
  v[0][0][1].fill_(kPoisons[0]);
  const Tensor out = attend(q, k, v, {.causal = Causal::same()}).output;
  EXPECT_TRUE(torch::isfinite(out[0][0][0]).all().item<bool>());
  EXPECT_TRUE(torch::isnan(out[0][0][1]).all().item<bool>());
}

TEST(Poison, OfAMaskedBiasStaysBehindTheMask) {
  torch::manual_seed(2);
  const Tensor q = torch::randn({1, 1, 3, 4}, torch::kFloat64);
  Tensor bias = torch::randn({3, 3}, torch::kFloat64);
  const AttendOptions clean{.bias = bias, .causal = Causal::same()};
  const Tensor expected = attend(q, q, q, clean).output;
  Tensor poisoned = bias.clone();
  poisoned[0][2] = kPoisons[0];
  poisoned[1][2] = kPoisons[1];
  poisoned.set_requires_grad(true);
  const Tensor out = attend(q, q, q, {.bias = poisoned, .causal = Causal::same()}).output;
  EXPECT_TRUE(torch::equal(out, expected));
  out.sum().backward();
  EXPECT_EQ(poisoned.grad()[0][2].item<double>(), 0);
  EXPECT_TRUE(torch::isfinite(poisoned.grad()).all().item<bool>());
}

}  // namespace
}  // namespace heed
