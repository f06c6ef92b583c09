#include <gtest/gtest.h>
#include <omp.h>

#include <limits>

#include "kernels/compare.hpp"
#include "kernels/reference.hpp"
#include "kernels/support.hpp"

namespace heed::kernels::testing {

static Tensor run(const Case& c, std::vector<float>* lse = nullptr) {
  const AttentionProblem& p = c.problem;
  Tensor out(p.type, {p.batch, p.heads, p.queries, p.value_width});
  std::vector<float> sums(static_cast<std::size_t>(p.batch * p.heads * p.queries));
  attention_forward(p, {.out = out.output(), .lse = sums.data(), .state = nullptr});
  if (lse != nullptr) *lse = sums;
  return out;
}

/// One to four queries on a cache of several parts, with every mask.
static Case long_case(int n, Type type, std::mt19937_64& random) {
  Case c = make_case({.type = type,
                      .batch = 2,
                      .heads = 4,
                      .kv_heads = n % 2 == 0 ? 4 : 2,
                      .queries = 1 + n % 4,
                      .keys = 1900 + 1000 * (n % 5),
                      .width = 9,
                      .value_width = n % 3 == 0 ? 16 : 7,
                      .spread = 2},
                     random);
  AttentionProblem& p = c.problem;
  if (n % 3 == 1) p.causal = Causal::bottom_right;
  if (n % 4 == 2) c.lengths = {p.keys - 7, 3};
  if (n % 5 == 3)
    p.window_left = 2500, p.window_right = 10, p.causal = Causal::offset, p.offset = p.keys - 5;
  if (n % 7 == 5) p.softcap = 3;
  if (n % 2 == 1) {
    c.mask.resize(static_cast<std::size_t>(p.keys));
    for (auto& m : c.mask) m = random() % 4 != 0;
    p.mask.stride = {0, 0, 0, 1};
  }
  c.connect();
  if (n % 2 == 1) poison(c, random);
  return c;
}

TEST(Decode, MatchesThePlainFormulaOnLongCaches) {
  std::mt19937_64 random(71);
  for (int n = 0; n < 24; ++n) {
    const Type type = n % 3 == 2 ? Type::bfloat16 : n % 8 == 1 ? Type::float16 : Type::float32;
    const Case c = long_case(n, type, random);
    const Reference want = reference<double>(c, false);
    for_each_target([&] {
      SCOPED_TRACE(c.describe());
      std::vector<float> lse;
      const Tensor out = run(c, &lse);
      expect_close(
          "out", out.buffer.size(), [&](std::int64_t i) { return out.buffer.get(i); },
          [&](std::int64_t i) { return want.out[static_cast<std::size_t>(i)]; }, tolerance(type));
      expect_close(
          "lse", static_cast<std::int64_t>(lse.size()),
          [&](std::int64_t i) { return lse[static_cast<std::size_t>(i)]; },
          [&](std::int64_t i) { return want.lse[static_cast<std::size_t>(i)]; }, 2e-5);
    });
  }
}

TEST(Decode, SameBitsAtAnyThreadCountAndForAnEntryAlone) {
  std::mt19937_64 random(73);
  for (const std::int64_t keys : {5, 96, 300, 4000}) {
    Case c = make_case({.batch = 3,
                        .heads = 2,
                        .kv_heads = 2,
                        .queries = 1,
                        .keys = keys,
                        .width = 12,
                        .value_width = 10},
                       random);
    for_each_target([&] {
      const Tensor all = run(c);
      Case one = c;
      one.connect();
      one.problem.batch = 1;
      const Tensor first = run(one);
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t w = 0; w < 10; ++w)
          EXPECT_EQ(all.at(0, h, 0, w), first.at(0, h, 0, w)) << c.describe();
      }
    });
  }
  Case c = long_case(8, Type::float32, random);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Tensor one = run(c);
  omp_set_num_threads(4);
  const Tensor four = run(c);
  omp_set_num_threads(threads);
  EXPECT_TRUE(one.buffer == four.buffer);
}

TEST(Decode, ErrorIsAtMostTwiceThePlainFormulas) {
  std::mt19937_64 random(79);
  Case c = make_case({.batch = 64,
                      .heads = 32,
                      .kv_heads = 32,
                      .queries = 1,
                      .keys = 200,
                      .width = 32,
                      .value_width = 64},
                     random);
  const Reference exact = reference<double>(c, false), plain = reference<float>(c, false);
  for_each_target([&] {
    SCOPED_TRACE(c.describe());
    const Tensor out = run(c);
    Errors ours, theirs;
    for (std::size_t i = 0; i < exact.out.size(); ++i) {
      ours.add(out.buffer.get(static_cast<std::int64_t>(i)), exact.out[i]);
      theirs.add(plain.out[i], exact.out[i]);
    }
    expect_rule_10("out", ours, theirs, 0x1p-23);
  });
}

}  // namespace heed::kernels::testing
