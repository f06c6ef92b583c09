// Packed batches, multi-dimensional attention and the unfused kernel, each against attend itself.
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attention/gradcheck.hpp"
#include "heed/attention/attend.hpp"
#include "heed/base/error.hpp"

namespace heed {
namespace {

constexpr auto kDouble = torch::kFloat64;

double difference(const Tensor& a, const Tensor& b) {
  return a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

TEST(Packed, EqualsEachEntryAloneForwardAndBackward) {
  const std::vector<std::int64_t> queries = {3, 0, 70, 1}, keys = {5, 4, 100, 0};
  const auto offsets = [](const std::vector<std::int64_t>& lengths) {
    std::vector<std::int64_t> sums = {0};
    for (const std::int64_t n : lengths) sums.push_back(sums.back() + n);
    return torch::tensor(sums);
  };
  for (const std::string align : {"soft", "sparsemax", "top-k", "local-p", "local-m"}) {
    torch::manual_seed(5);
    const Tensor q = torch::randn({74, 4, 8}, kDouble).set_requires_grad(true),
                 k = torch::randn({109, 2, 8}, kDouble).set_requires_grad(true),
                 v = torch::randn({109, 2, 6}, kDouble).set_requires_grad(true);
    AttendOptions options{.align = align, .causal = Causal::bottom_right()};
    if (align == "local-p") {
      options.params = {{"Wp", torch::randn({3, 8}, kDouble)}, {"wp", torch::randn({3}, kDouble)}};
    }
    const Tensor grad = torch::randn({74, 4, 6}, kDouble);
    const auto run = [&](bool packed) {
      for (const Tensor& x : {q, k, v}) x.mutable_grad() = Tensor();
      if (packed) {
        attend_packed(q, k, v, offsets(queries), offsets(keys), options).output.backward(grad);
      } else {
        std::int64_t i = 0, j = 0;
        std::vector<Tensor> parts;
        for (std::size_t b = 0; b < queries.size(); ++b) {
          const auto entry = [&](const Tensor& x, std::int64_t from, std::int64_t n) {
            return x.narrow(0, from, n).transpose(0, 1).unsqueeze(0);
          };
          parts.push_back(
              attend(entry(q, i, queries[b]), entry(k, j, keys[b]), entry(v, j, keys[b]), options)
                  .output.squeeze(0)
                  .transpose(0, 1));
          i += queries[b], j += keys[b];
        }
        torch::cat(parts).backward(grad);
      }
      return std::vector<Tensor>{q.grad().clone(), k.grad().clone(), v.grad().clone()};
    };
    const auto together = run(true), alone = run(false);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_LT(difference(together[i], alone[i]), 1e-12) << align;
  }
}

TEST(Packed, RefusesOffsetsThatDoNotFit) {
  const Tensor x = torch::randn({5, 2, 4});
  const auto error = [&](const Tensor& q_offsets, const Tensor& k_offsets) -> std::string {
    try {
      attend_packed(x, x, x, q_offsets, k_offsets);
    } catch (const InputError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(error(torch::tensor({0, 4}), torch::tensor({0, 5})),
              testing::HasSubstr("q_offsets run from 0 to 4; needed is 0 to 5"));
  EXPECT_THAT(error(torch::tensor({0, 3, 2, 5}), torch::tensor({0, 1, 2, 5})),
              testing::HasSubstr("q_offsets fall"));
  EXPECT_THAT(error(torch::tensor({0, 5}), torch::tensor({0, 2, 5})),
              testing::HasSubstr("q_offsets name 1 entries, k_offsets 2"));
}

TEST(Unfused, EqualsTheReferenceForwardAndBackward) {
  torch::manual_seed(11);
  for (const std::string align : {"soft", "entmax15", "top-k"}) {
    const Tensor q = torch::randn({2, 4, 9, 5}, kDouble), k = torch::randn({2, 2, 13, 5}, kDouble);
    std::vector<Tensor> grads;
    for (const Kernel kernel : {Kernel::unfused, Kernel::reference}) {
      const Tensor query = q.clone().set_requires_grad(true),
                   key = k.clone().set_requires_grad(true);
      AttendOptions options{.align = align, .causal = Causal::bottom_right(), .kernel = kernel};
      options.want.kernel = true;
      const AttendResult r = attend(query, key, key, options);
      EXPECT_THAT(r.kernel, testing::HasSubstr("as asked"));
      r.output.square().sum().backward();
      grads.insert(grads.end(), {r.output.detach(), query.grad(), key.grad()});
    }
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_LT(difference(grads[i], grads[i + 3]), 1e-10) << align;
  }
}

struct Multi {
  Tensor q, k, v;
  AttendOptions options;

  explicit Multi(bool each_head) {
    torch::manual_seed(13);
    q = torch::randn({2, 2, 5, 4}, kDouble), k = torch::randn({2, 2, 9, 3}, kDouble),
    v = torch::randn({2, 2, 9, 6}, kDouble);
    const auto param = [&](std::vector<std::int64_t> shape) {
      if (each_head) shape.insert(shape.begin(), 2);
      return torch::randn(shape, kDouble);
    };
    options = {.score = "additive",
               .dimensionality = "multi",
               .params = {{"W1", param({7, 4})},
                          {"W2", param({7, 3})},
                          {"Wd", param({7, 6})},
                          {"b", param({7})}},
               .causal = Causal::bottom_right()};
    options.lengths = torch::tensor({9, 6});
    options.mask = torch::rand({5, 9}) > 0.2;
  }
};

TEST(Multi, FusedEqualsTheReferenceWithEveryGradient) {
  for (const bool each_head : {false, true}) {
    for (const double dropout : {0.0, 0.3}) {
      const Multi x(each_head);
      std::vector<std::vector<Tensor>> results;
      for (const Kernel kernel : {Kernel::fused, Kernel::reference}) {
        AttendOptions options = x.options;
        options.kernel = kernel, options.dropout_p = dropout, options.seed = 3;
        options.softcap = 4;
        std::vector<Tensor> leaves;
        for (const Tensor& t : {x.q, x.k, x.v}) leaves.push_back(t.clone().set_requires_grad(true));
        for (auto& [name, t] : options.params)
          leaves.push_back(t = t.clone().set_requires_grad(true));
        const Tensor out = attend(leaves[0], leaves[1], leaves[2], options).output;
        out.square().sum().backward();
        std::vector<Tensor> all = {out.detach()};
        for (const Tensor& t : leaves) all.push_back(t.grad());
        results.push_back(all);
      }
      for (std::size_t i = 0; i < results[0].size(); ++i)
        EXPECT_LT(difference(results[0][i], results[1][i]), 1e-11) << i << " " << each_head;
    }
  }
}

TEST(Multi, WeightsSumToOneForEveryFeatureAndGiveTheOutput) {
  Multi x(false);
  x.options.want.weights = true;
  const AttendResult r = attend(x.q, x.k, x.v, x.options);
  EXPECT_EQ(r.weights.sizes(), (std::vector<std::int64_t>{2, 2, 5, 9, 6}));
  const Tensor some = r.weights.sum(3) > 0;
  EXPECT_LT(difference(r.weights.sum(3), some.to(kDouble)), 1e-12);
  EXPECT_LT(difference((r.weights * x.v.unsqueeze(2)).sum(3), r.output), 1e-12);
  EXPECT_EQ(r.weights[1].narrow(2, 6, 3).abs().max().item<double>(), 0);
}

TEST(Multi, HasTheGradientsOfItsFormula) {
  Multi x(false);
  check_gradients(
      [&](const std::vector<Tensor>& t) {
        AttendOptions options = x.options;
        options.params["Wd"] = t[3], options.params["W1"] = t[4];
        return attend(t[0], t[1], t[2], options).output;
      },
      {x.q, x.k, x.v, x.options.params["Wd"], x.options.params["W1"]}, "multi");
}

TEST(Multi, GoesWithAdditiveAndSoftOnly) {
  const Tensor x = torch::randn({1, 3, 4});
  EXPECT_THROW(attend(x, x, x, {.dimensionality = "multi"}), InputError);
}

}  // namespace
}  // namespace heed
