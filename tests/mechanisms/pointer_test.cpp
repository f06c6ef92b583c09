#include "heed/mechanisms/pointer.hpp"

#include <gmock/gmock.h>

#include "mechanisms/support.hpp"

namespace heed {
namespace {

Pointer pointer_of(const std::string& cell, bool repeat, std::int64_t seed = 1) {
  torch::manual_seed(seed);
  Pointer made(PointerOptions{.key_dim = 4, .state_dim = 5, .cell = cell, .repeat = repeat});
  made->to(kFull);
  for (Tensor& parameter : made->parameters()) parameter.data().normal_();
  return made;
}

Input keys_of(const Tensor& data, const Tensor& lengths = {}) {
  return {.data = data, .lengths = lengths, .name = "text"};
}

// Every sequence that ends, of places below n.
void all_sequences(std::int64_t n, bool repeat, std::size_t longest,
                   std::vector<std::int64_t> so_far,
                   std::vector<std::vector<std::int64_t>>& found) {
  if (so_far.size() == longest) return;
  for (std::int64_t place = 0; place <= n; ++place) {
    if (!repeat && place < n && std::count(so_far.begin(), so_far.end(), place) > 0) continue;
    std::vector<std::int64_t> next = so_far;
    next.push_back(place);
    if (place == n) {
      found.push_back(next);
    } else {
      all_sequences(n, repeat, longest, next, found);
    }
  }
}

TEST(Pointer, ProbabilitiesOfAllSequencesSumToOne) {
  for (const std::string cell : {"lstm", "gru"}) {
    Pointer pointer = pointer_of(cell, false);
    const Tensor x = torch::randn({1, 3, 4}, kFull);
    std::vector<std::vector<std::int64_t>> sequences;
    all_sequences(3, false, 4, {}, sequences);
    ASSERT_EQ(sequences.size(), 16u);
    double total = 0, best = -1e9;
    std::vector<std::int64_t> best_sequence;
    for (const auto& sequence : sequences) {
      const double logp =
          pointer->log_likelihood(keys_of(x), torch::tensor(sequence).unsqueeze(0)).item<double>();
      total += std::exp(logp);
      if (logp > best) best = logp, best_sequence = sequence;
    }
    EXPECT_NEAR(total, 1, 1e-12);
    // A beam that holds them all finds the best.
    const Pointed found = pointer->beam(keys_of(x), 16);
    EXPECT_NEAR(found.logp.item<double>(), best, 1e-12);
    for (std::size_t t = 0; t < best_sequence.size(); ++t)
      EXPECT_EQ(found.places[0][static_cast<int>(t)].item<std::int64_t>(), best_sequence[t]);
  }
}

TEST(Pointer, DecodingAgreesWithTeacherForcingInABatchOfMixedLengths) {
  for (const bool repeat : {false, true}) {
    Pointer pointer = pointer_of("lstm", repeat, 3);
    const Tensor x = torch::randn({4, 5, 4}, kFull), lengths = torch::tensor({5, 3, 1, 0});
    Tensor bad = x.clone();
    for (std::int64_t b = 0; b < 4; ++b) {
      const std::int64_t n = lengths[b].item<std::int64_t>();
      bad[b].narrow(0, n, 5 - n).fill_(NAN);
    }
    for (const std::int64_t width : {1, 3}) {
      const Pointed found = pointer->beam(keys_of(bad, lengths), width, 6);
      const Tensor logp = pointer->log_likelihood(keys_of(bad, lengths), found.places);
      EXPECT_LT(greatest(logp - found.logp), 1e-12);
      for (std::int64_t b = 0; b < 4; ++b) {
        const std::int64_t n = lengths[b].item<std::int64_t>();
        const Pointed alone = pointer->beam(keys_of(x.narrow(0, b, 1).narrow(1, 0, n)), width, 6);
        EXPECT_NEAR(alone.logp.item<double>(), found.logp[b].item<double>(), 1e-12);
        std::set<std::int64_t> seen;
        for (std::int64_t t = 0; t < found.places.size(1); ++t) {
          const std::int64_t place = found.places[b][t].item<std::int64_t>();
          EXPECT_TRUE(place < n || place == 5) << "past the length";
          EXPECT_TRUE(place < 0 || repeat || seen.insert(place).second) << "chosen twice";
        }
      }
    }
    const Pointed greedy = pointer->greedy(keys_of(x), 6), beam = pointer->beam(keys_of(x), 8, 6);
    EXPECT_TRUE((beam.logp >= greedy.logp - 1e-12).all().item<bool>());
  }
}

TEST(Pointer, HasItsGradientsAndPoisonStaysOut) {
  Pointer pointer = pointer_of("gru", false, 5);
  const Tensor lengths = torch::tensor({4, 2});
  const Tensor targets = torch::tensor({{2, 0, 4}, {1, 4, -1}});
  Tensor x = torch::randn({2, 4, 4}, kFull);
  check_gradients(
      [&](const std::vector<Tensor>& in) {
        return pointer->log_likelihood(keys_of(in[0], lengths), targets);
      },
      {x}, "pointer");
  check_parameters(*pointer, [&] { return pointer->log_likelihood(keys_of(x, lengths), targets); });
  x[1].narrow(0, 2, 2).fill_(NAN);
  x.set_requires_grad(true);
  pointer->log_likelihood(keys_of(x, lengths), targets).sum().backward();
  EXPECT_TRUE(torch::isfinite(x.grad()).all().item<bool>());
  for (const Tensor& parameter : pointer->parameters())
    EXPECT_TRUE(torch::isfinite(parameter.grad()).all().item<bool>());
}

TEST(Pointer, RefusesWhatCannotBe) {
  Pointer pointer = pointer_of("lstm", false);
  const Input keys = keys_of(torch::randn({1, 3, 4}, kFull), torch::tensor({2}));
  EXPECT_THAT(refusal([&] {
                pointer->forward(keys, torch::tensor({{0, 0}}));
              }),
              testing::HasSubstr("points twice"));
  EXPECT_THAT(refusal([&] { pointer->forward(keys, torch::tensor({{2}})); }),
              testing::HasSubstr("past its entry's length"));
  EXPECT_THAT(refusal([&] { pointer->forward(keys, torch::tensor({{7}})); }),
              testing::HasSubstr("there are 3 places"));
  EXPECT_THAT(
      refusal([] { Pointer(PointerOptions{.parts = {.align = "sparsemax"}, .key_dim = 4}); }),
      testing::HasSubstr("not 'soft'"));
}

TEST(Pointer, AsAMechanismHoldsThePromises) {
  torch::manual_seed(6);
  for (const std::string cell : {"lstm", "gru"}) {
    const auto mechanism = make_mechanism(
        {.parts = {.mechanism = {"pointer", {{"cell", cell}, {"steps", std::int64_t{2}}}}},
         .inputs = {{.name = "text", .dim = 4}}});
    mechanism->to(kFull);
    for (Tensor& parameter : mechanism->parameters()) parameter.data().normal_();
    hold_promises(*mechanism, "pointer", torch::randn({3, 4, 4}, kFull));
  }
}

}  // namespace
}  // namespace heed
