// Attention over a group of ranks against one process. Runs with any number of ranks: alone by
// ctest, as two and four by test_ring.py.
#include "dist/ring_cases.hpp"

namespace heed {
namespace {

constexpr const char* kResults[] = {"output", "dq", "dk", "dv", "lse"};

RingCase random_case(std::uint64_t seed) {
  Random random(seed);
  torch::manual_seed(seed);
  const auto pick = [&](std::initializer_list<std::int64_t> from) {
    return *(from.begin() + random.below(from.size()));
  };
  const std::int64_t B = pick({1, 2, 3}), G = pick({1, 2}), H = G * pick({1, 3}),
                     Q = pick({0, 1, 3, 17, 64, 301}),
                     K = random.chance(0.5) ? Q : pick({0, 1, 5, 33, 130}), D = pick({1, 4, 8, 33}),
                     V = pick({1, 5, 8, 40});
  RingCase made(B, H, G, Q, K, D, V);
  AttendOptions& o = made.options;
  if (random.chance(0.6)) {
    const Causal corners[] = {Causal::top_left(), Causal::bottom_right(), Causal::at(-2),
                              Causal::at(7)};
    o.causal = corners[random.below(4)];
  }
  if (random.chance(0.5)) o.lengths = torch::randint(K + 1, {B});
  if (random.chance(0.3)) o.window = {{pick({-1, 0, 40}), pick({-1, 1, 9})}};
  if (random.chance(0.3)) o.alibi = torch::rand({H});
  if (random.chance(0.3)) o.softcap = 3.0;
  if (random.chance(0.3)) o.scale = random.chance(0.5) ? -0.7 : 0.4;
  return made;
}

TEST(Ring, EqualsOneProcessForwardAndBackward) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const RingCase made = random_case(seed);
    const auto ours = made.ring(), theirs = made.alone(torch::kFloat64);
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_LT(largest_gap(ours[i], theirs[i]), i == 4 ? 1e-5 : 1e-10)
          << "seed " << seed << ", " << kResults[i];
  }
}

TEST(Ring, EqualsOneProcessInSeveralPieces) {
  torch::manual_seed(1);
  RingCase made(1, 2, 1, 300, 4501, 16, 640);  // wide values: pieces of keys, uneven
  made.options.causal = Causal::bottom_right();
  const auto ours = made.ring(), theirs = made.alone(torch::kFloat64, Kernel::fused);
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_LT(largest_gap(ours[i], theirs[i]), i == 4 ? 1e-5 : 1e-10) << kResults[i];
}

TEST(Ring, EveryProductScoreServes) {
  for (const char* score :
       {"dot", "scaled-dot", "general", "biased-general", "low-rank-bilinear", "similarity"}) {
    torch::manual_seed(2);
    RingCase made(2, 2, 2, 37, 37, 6, 5);
    made.options.score = std::string(score);
    made.options.causal = Causal::same();
    const auto f64 = torch::kFloat64;
    const std::string id = score;
    if (id.ends_with("general")) made.options.params["W"] = torch::randn({6, 6}, f64);
    if (id == "biased-general") made.options.params["b"] = torch::randn({6}, f64);
    if (id == "low-rank-bilinear")
      made.options.params = {{"U", torch::randn({4, 6}, f64)}, {"V", torch::randn({4, 6}, f64)}};
    const auto ours = made.ring(), theirs = made.alone(f64);
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_LT(largest_gap(ours[i], theirs[i]), i == 4 ? 1e-5 : 1e-10)
          << score << ", " << kResults[i];
  }
}

TEST(Ring, RowsWithoutKeysGiveZeroAndNoGradient) {
  torch::manual_seed(3);
  RingCase made(2, 1, 1, 24, 24, 4, 4);
  made.options.lengths = torch::tensor({0, 24});
  made.options.causal = Causal::at(-5);
  // What nobody may look at is not a number.
  made.k[0].fill_(NAN), made.v[0].fill_(NAN);
  const auto results = made.ring();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(results[i].isfinite().all().item<bool>()) << kResults[i];
    EXPECT_EQ(results[i][0].abs().sum().item<double>(), 0) << kResults[i];
  }
  EXPECT_TRUE((results[4][0] == -HUGE_VAL).all().item<bool>());
  const Tensor places = ring_positions(24, dist::mpi_world());
  const Tensor empty = results[0][1][0].index({places < 5});
  EXPECT_EQ(empty.abs().sum().item<double>(), 0);
}

TEST(Ring, TheGradientIsThatOfDifferences) {
  torch::manual_seed(4);
  dist::Group& group = dist::mpi_world();
  RingCase made(1, 2, 1, 9, 9, 3, 2);
  made.options.causal = Causal::same();
  made.options.lengths = torch::tensor({7});
  made.options.group = &group;
  std::vector<Tensor> leaves = {made.q.contiguous(), made.k, made.v};
  const auto loss = [&] {
    const Tensor out =
        attend(made.part(leaves[0]), made.part(leaves[1]), made.part(leaves[2]), made.options)
            .output;
    return (out * made.part(made.grad)).sum();
  };
  for (Tensor& x : leaves) x.set_requires_grad(true);
  const auto grads = torch::autograd::grad({loss()}, leaves);
  torch::NoGradGuard no_grad;
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    Tensor flat = leaves[i].view({-1});
    const Tensor mine = grads[i].reshape({-1});
    for (std::int64_t j = 0; j < flat.numel(); ++j) {
      const auto at = [&](double change) {
        flat[j] += change;
        const double sum = sum_of_ranks(loss().item<double>());
        flat[j] -= change;
        return sum;
      };
      const double expected = (at(kStep) - at(-kStep)) / (2 * kStep);
      EXPECT_NEAR(sum_of_ranks(mine[j].item<double>()), expected, 1e-7)
          << kResults[i + 1] << ", element " << j;
    }
  }
}

TEST(Ring, GivesTheSameBitsAgain) {
  torch::manual_seed(5);
  RingCase made(2, 4, 2, 700, 700, 32, 32, torch::kFloat32);
  made.options.causal = Causal::same();
  const auto first = made.ring(), again = made.ring();
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_TRUE(torch::equal(first[i], again[i])) << kResults[i];
}

/// Rule 10 of the contract: at most twice the plain formula's error in the same type.
TEST(Ring, IsAsExactAsTheContractAsks) {
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    torch::manual_seed(6);
    RingCase made(2, 2, 1, 600, 600, 32, 48, type);  // over 10⁵ outputs
    made.options.causal = Causal::same();
    made.options.lengths = torch::tensor({600, 413});
    const auto ours = made.ring(), plain = made.alone(type), exact = made.alone(torch::kFloat64);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto square = [&](const std::vector<Tensor>& from) {
        const Tensor errors = from[i].to(torch::kFloat64) - exact[i];
        return std::sqrt(sum_of_ranks(errors.square().sum().item<double>()));
      };
      const auto largest = [&](const std::vector<Tensor>& from) {
        return largest_gap(from[i].to(torch::kFloat64), exact[i]);
      };
      EXPECT_LE(square(ours), 2 * square(plain)) << kResults[i] << " " << type;
      const double unit = type == torch::kFloat32 ? 0x1p-23 : 0x1p-7;
      const double floor = unit * exact[i].abs().max().item<double>();
      EXPECT_LE(largest(ours), std::max(2 * largest(plain), floor)) << kResults[i] << " " << type;
    }
  }
}

}  // namespace
}  // namespace heed
