#include <gtest/gtest.h>

#include "kernels/compare.hpp"
#include "kernels/reference.hpp"
#include "kernels/support.hpp"

namespace heed::kernels::testing {

TEST(Weights, MatrixRowsScoresEntropyAndReceivedMatchThePlainFormula) {
  std::mt19937_64 random(41);
  for (int n = 0; n < 60; ++n) {
    const Type type = n % 4 == 0 ? Type::float64 : Type::float32;
    Case c = n % 2 == 0 ? random_case(type, random)
                        : random_aligned_case(type, static_cast<Align>(1 + n / 2 % 7), random);
    // Poison would be visible in the scores, which are those before the masks.
    const Reference want = reference<double>(c, false);
    const AttentionProblem& p = c.problem;
    const std::int64_t rows = p.batch * p.heads * p.queries, columns = p.batch * p.heads * p.keys;
    for_each_target([&] {
      SCOPED_TRACE(c.describe());
      Tensor out(type, {p.batch, p.heads, p.queries, p.value_width});
      Tensor again(type, {p.batch, p.heads, p.queries, p.value_width});
      Buffer state(c.working(), kRowState * rows + 1);
      attention_forward(p, {.out = out.output(), .lse = nullptr, .state = nullptr});
      attention_forward(p, {.out = again.output(), .lse = nullptr, .state = state.data()});
      EXPECT_TRUE(out.buffer == again.buffer) << "asking for the state changed the output";

      const std::array<std::int64_t, 4> shape{p.batch, p.heads, p.queries, p.keys};
      Tensor weights(c.working(), shape), scores(c.working(), shape);
      Buffer entropy(Type::float32, rows + 1, 5), received(Type::float32, columns + 1, 5);
      attention_weights(p, state.data(),
                        {.weights = weights.output(),
                         .scores = scores.output(),
                         .entropy = static_cast<float*>(entropy.data()),
                         .received = static_cast<float*>(received.data())});
      EXPECT_EQ(entropy.get(rows), 5) << "wrote past the entropies";
      EXPECT_EQ(received.get(columns), 5) << "wrote past the received mass";
      const auto expect = [&](const char* name, const Buffer& got, const std::vector<double>& all,
                              double allowed) {
        expect_close(
            name, static_cast<std::int64_t>(all.size()), [&](std::int64_t i) { return got.get(i); },
            [&](std::int64_t i) { return all[static_cast<std::size_t>(i)]; }, allowed);
      };
      expect("weights", weights.buffer, want.weights, tolerance(type));
      expect("scores", scores.buffer, want.scores, tolerance(type));
      expect("entropy", entropy, want.entropy, 2e-5);
      expect("received", received, want.received, 2e-5);

      if (p.queries == 0) return;
      const std::vector<std::int64_t> chosen{p.queries - 1, 0};
      Tensor some(c.working(), {p.batch, p.heads, 2, p.keys});
      attention_weights(p, state.data(),
                        {.weights = some.output(), .rows = chosen.data(), .row_count = 2});
      for (std::int64_t b = 0; b < p.batch; ++b) {
        for (std::int64_t h = 0; h < p.heads; ++h) {
          for (std::int64_t k = 0; k < p.keys; ++k) {
            for (std::int64_t i = 0; i < 2; ++i) {
              const double got = some.at(b, h, i, k),
                           all = weights.at(b, h, chosen[static_cast<std::size_t>(i)], k);
              EXPECT_TRUE(got == all || (std::isnan(got) && std::isnan(all)))
                  << got << " and " << all;
            }
          }
        }
      }
    });
    if (HasFailure()) return;
  }
}

TEST(Weights, ARowThatIsNotThereIsAnError) {
  std::mt19937_64 random(1);
  const Case c = make_case({}, random);
  const std::int64_t row = 1;
  float state[kRowState] = {0, 1}, weight = 0;
  EXPECT_THROW(
      attention_weights(c.problem, state, {.weights = {&weight, {}}, .rows = &row, .row_count = 1}),
      std::invalid_argument);
}

}  // namespace heed::kernels::testing
