// Parts of a sequence, and what the ranks are told when they do not fit.
#include <gmock/gmock.h>

#include "dist/ring_cases.hpp"
#include "heed/base/error.hpp"
#include "heed/mechanisms/attender.hpp"

namespace heed {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(RingSplit, CoversEveryPositionOnceAndEvenly) {
  for (const std::int64_t length : {0, 1, 3, 7, 16, 33, 1000}) {
    for (const int ranks : {1, 2, 3, 4, 7}) {
      std::vector<int> times(static_cast<std::size_t>(length));
      for (int rank = 0; rank < ranks; ++rank) {
        std::int64_t count = 0;
        for (const RingSpan& span : ring_spans(length, rank, ranks)) {
          for (std::int64_t i = 0; i < span.count; ++i)
            ++times.at(static_cast<std::size_t>(span.first + i));
          count += span.count;
        }
        EXPECT_LE(std::abs(count - length / ranks), 2) << length << " over " << ranks;
      }
      EXPECT_THAT(times, testing::Each(1));
    }
  }
}

TEST(RingSplit, BalancesCausalWork) {
  for (const int ranks : {2, 4, 8}) {
    for (int rank = 0; rank < ranks; ++rank) {
      double pairs = 0;
      for (const RingSpan& span : ring_spans(16384, rank, ranks)) {
        for (std::int64_t i = 0; i < span.count; ++i)
          pairs += static_cast<double>(span.first + i + 1);
      }
      EXPECT_NEAR(pairs * ranks / (16384.0 * 16385 / 2), 1, 1e-3);
    }
  }
}

TEST(RingSplit, JoinsAgainAlongAnyDimension) {
  dist::Group& group = dist::mpi_world();
  for (const std::int64_t length : {0, 1, 3, 13}) {
    for (const std::int64_t dim : {0, 1, -1}) {
      std::vector<std::int64_t> shape = {2, 3, 4};
      shape[static_cast<std::size_t>(dim < 0 ? dim + 3 : dim)] = length;
      torch::manual_seed(1);
      const Tensor whole = torch::randn(shape);
      EXPECT_TRUE(torch::equal(ring_join(ring_split(whole, dim, group), dim, group), whole));
    }
  }
}

TEST(RingErrors, NameWhatCannotBeMergedAndWhatToDo) {
  const auto refused = [](auto change) {
    return [change] {
      RingCase made(1, 1, 1, 8, 8, 4, 4);
      change(made.options);
      made.options.group = &dist::mpi_world();
      attend(made.part(made.q), made.part(made.k), made.part(made.v), made.options);
    };
  };
  const auto says = [](const char* text) { return ThrowsMessage<InputError>(HasSubstr(text)); };
  EXPECT_THAT(refused([](AttendOptions& o) { o.align = "sparsemax"; }),
              says("only 'soft' is merged exactly from parts"));
  EXPECT_THAT(refused([](AttendOptions& o) {
                o.mask = torch::ones({8, 8}, torch::kBool);
              }),
              says("say causal, window, lengths or alibi"));
  EXPECT_THAT(refused([](AttendOptions& o) { o.dropout_p = 0.1; }), says("drop features instead"));
  EXPECT_THAT(refused([](AttendOptions& o) { o.want.weights = true; }), says("lse and kernel"));
  EXPECT_THAT(refused([](AttendOptions& o) { o.kernel = Kernel::reference; }), says("fused"));
  EXPECT_THAT(refused([](AttendOptions& o) { o.lengths = torch::tensor({9}); }),
              says("key has 8 positions"));
  EXPECT_THAT(refused([](AttendOptions& o) {
                o.score = "additive";
                const auto f64 = torch::kFloat64;
                o.params = {{"W1", torch::ones({2, 4}, f64)},
                            {"W2", torch::ones({2, 4}, f64)},
                            {"w", torch::ones({2}, f64)}};
              }),
              says("take a score that is a product"));
}

TEST(RingErrors, AreTheSameAtEveryRankWhenRanksDiffer) {
  dist::Group& group = dist::mpi_world();
  if (group.size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const Tensor x = torch::randn({1, 1, 8, 4});
  const auto told = [&](const Tensor& mine, AttendOptions options) {
    options.group = &group;
    return [=] { attend(mine, mine, mine, options); };
  };
  const auto says = [](const char* text) { return ThrowsMessage<InputError>(HasSubstr(text)); };
  EXPECT_THAT(told(group.first() ? x : torch::randn({2, 1, 8, 4}), {}), says("batch size"));
  EXPECT_THAT(told(x, {.scale = group.first() ? 1.0 : 2.0}), says("differ in their options"));
  EXPECT_THAT(told(group.first() ? torch::randn({1, 1, 30, 4}) : x, {.causal = Causal::same()}),
              says("ring_split gives it"));
  EXPECT_THAT(told(group.first() ? x.clone().set_requires_grad(true) : x, {}),
              says("need of gradients"));
}

TEST(Ring, TakesAnySplitWhereNoPlaceMatters) {
  dist::Group& group = dist::mpi_world();
  torch::manual_seed(2);
  const RingCase made(1, 2, 2, 5, 60, 4, 4);
  // Rank r holds the queries whole, and an uneven run of keys.
  const std::int64_t cut = group.size() == 1 ? 60 : 11;
  const std::int64_t first = group.rank() * cut;
  const std::int64_t count = group.rank() + 1 == group.size() ? 60 - first : cut;
  AttendOptions options;
  options.group = &group;
  const Tensor out =
      attend(made.q, made.k.narrow(2, first, count), made.v.narrow(2, first, count), options)
          .output;
  EXPECT_LT(largest_gap(out, attend(made.q, made.k, made.v).output), 1e-12);
}

TEST(Ring, ServesMultiHeadSelfAttention) {
  dist::Group& group = dist::mpi_world();
  torch::manual_seed(3);
  MechanismProblem problem{.inputs = {{.name = "text", .dim = 8}}};
  problem.parts.queries = "multi-head";
  problem.parts.score = "scaled-dot";
  Attender attender(problem, 8, 8);
  const Tensor whole = torch::randn({2, 21, 8});
  Trace trace;
  const auto run = [&](const Tensor& x, dist::Group* over) {
    const Input input{.data = x, .lengths = {}, .name = "text"};
    attender->zero_grad();
    const Tensor out = attender->attend(
        {.query = input, .keys = input, .causal = Causal::same(), .group = over}, trace["self"]);
    out.square().sum().backward();
    std::vector<Tensor> results = {out.detach()};
    for (const Tensor& p : attender->parameters()) results.push_back(p.grad().clone());
    return results;
  };
  auto parts = run(ring_split(whole, 1, group), &group);
  const auto wholes = run(whole, nullptr);
  EXPECT_LT(largest_gap(parts[0], ring_split(wholes[0], 1, group)), 1e-5);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    // As in data parallel training, the ranks' gradients of shared parameters are added up.
    group
        .sum(std::span(parts[i].mutable_data_ptr<float>(),
                       static_cast<std::size_t>(parts[i].numel())))
        ->wait();
    EXPECT_LT(largest_gap(parts[i], wholes[i]), 1e-4) << "parameter " << i;
  }
}

}  // namespace
}  // namespace heed
