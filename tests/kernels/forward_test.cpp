#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>

#include "kernels/compare.hpp"
#include "kernels/reference.hpp"
#include "kernels/support.hpp"

namespace heed::kernels::testing {

struct Result {
  Tensor out;
  Buffer lse, state;
};

static Result run(const Case& c, Layout layout = Layout::bhld) {
  const AttentionProblem& p = c.problem;
  const std::int64_t rows = p.batch * p.heads * p.queries;
  Result r{Tensor(p.type, {p.batch, p.heads, p.queries, p.value_width}, layout),
           Buffer(Type::float32, rows + 1, 5), Buffer(c.working(), kRowState * rows + 1, 5)};
  attention_forward(
      p,
      {.out = r.out.output(), .lse = static_cast<float*>(r.lse.data()), .state = r.state.data()});
  EXPECT_EQ(r.lse.get(rows), 5) << "wrote past the log-sum-exp";
  EXPECT_EQ(r.state.get(kRowState * rows), 5) << "wrote past the state";
  return r;
}

static void expect_forward(const Case& c, const Result& r, const Reference& want) {
  SCOPED_TRACE(c.describe());
  const AttentionProblem& p = c.problem;
  const auto V = p.value_width, H = p.heads, Q = p.queries;
  expect_close(
      "out", p.batch * H * Q * V,
      [&](std::int64_t i) { return r.out.at(i / V / Q / H, i / V / Q % H, i / V % Q, i % V); },
      [&](std::int64_t i) { return want.out[static_cast<std::size_t>(i)]; }, tolerance(p.type));
  if (p.align == Align::sparsemax || p.align == Align::entmax15 || p.align == Align::entmax ||
      p.align == Align::sigmoid) {
    return;
  }
  expect_close(
      "lse", p.batch * H * Q, [&](std::int64_t i) { return r.lse.get(i); },
      [&](std::int64_t i) { return want.lse[static_cast<std::size_t>(i)]; },
      p.type == Type::float64 ? 1e-6 : 2e-5);
}

static void check_random(Type type, int count, Align align = Align::soft, bool additive = false) {
  std::mt19937_64 random(7);
  for (int n = 0; n < count; ++n) {
    Case c =
        align == Align::soft ? random_case(type, random) : random_aligned_case(type, align, random);
    if (additive) make_additive(c, random);
    if (n % 2 == 0) poison(c, random);
    const Reference want = reference<double>(c, false);
    const auto layout = static_cast<Layout>(n % 3);
    for_each_target([&] { expect_forward(c, run(c, layout), want); });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Forward, AdditiveScoresMatchThePlainFormula) {
  check_random(Type::float64, 100, Align::soft, true);
  check_random(Type::float32, 100, Align::soft, true);
  check_random(Type::bfloat16, 20, Align::soft, true);
  check_random(Type::float64, 20, Align::sparsemax, true);
  check_random(Type::float64, 20, Align::local_p, true);
}

class ForwardAligned : public ::testing::TestWithParam<Align> {};

TEST_P(ForwardAligned, MatchesThePlainFormula) {
  check_random(Type::float64, 100, GetParam());
  check_random(Type::float32, 100, GetParam());
  check_random(Type::bfloat16, 30, GetParam());
  check_random(Type::float16, 30, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Kinds, ForwardAligned,
                         ::testing::Values(Align::sparsemax, Align::entmax15, Align::entmax,
                                           Align::sigmoid, Align::top_k, Align::hard,
                                           Align::local_p));

TEST(Forward, MatchesThePlainFormulaOnAnyFloat32Problem) { check_random(Type::float32, 600); }
TEST(Forward, MatchesThePlainFormulaOnAnyFloat64Problem) { check_random(Type::float64, 200); }
TEST(Forward, MatchesThePlainFormulaOnAnyBfloat16Problem) { check_random(Type::bfloat16, 200); }
TEST(Forward, MatchesThePlainFormulaOnAnyFloat16Problem) { check_random(Type::float16, 200); }

TEST(Forward, ErrorIsAtMostTwiceThePlainFormulas) {
  std::mt19937_64 random(3);
  for (const auto& [type, unit] :
       {std::pair{Type::float32, 0x1p-23}, {Type::bfloat16, 0x1p-7}, {Type::float16, 0x1p-10}}) {
    for (const double spread : {1.0, 3.0}) {
      Case c = make_case({.type = type,
                          .batch = 2,
                          .heads = 4,
                          .kv_heads = 4,
                          .queries = 200,
                          .keys = 300,
                          .width = 64,
                          .value_width = 64,
                          .spread = spread},
                         random);
      const Reference exact = reference<double>(c, false), plain = reference<float>(c, false);
      for_each_target([&] {
        SCOPED_TRACE(c.describe());
        const Result r = run(c);
        Errors ours, theirs;
        Buffer rounded(type, 1);  // the plain formula in float32, its output rounded once
        for (std::size_t i = 0; i < exact.out.size(); ++i) {
          ours.add(r.out.buffer.get(static_cast<std::int64_t>(i)), exact.out[i]);
          rounded.set(0, plain.out[i]);
          theirs.add(rounded.get(0), exact.out[i]);
        }
        expect_rule_10("out", ours, theirs, unit);
      });
    }
  }
}

TEST(Forward, ANaNBehindOnesOwnMaskStaysThere) {
  // Value 5 is NaN: under a causal mask rows 0 to 4 must not see it, all later ones must.
  std::mt19937_64 random(5);
  Case c = make_case({.queries = 70, .keys = 70, .width = 8, .value_width = 9}, random);
  c.problem.causal = Causal::offset;
  c.value.set(0, 0, 5, 3, std::numeric_limits<double>::quiet_NaN());
  c.value.set(0, 0, 20, 4, std::numeric_limits<double>::infinity());
  const Reference want = reference<double>(c, false);
  for_each_target([&] {
    const Result r = run(c);
    expect_forward(c, r, want);
    EXPECT_FALSE(std::isnan(r.out.at(0, 0, 4, 3)));
    EXPECT_TRUE(std::isnan(r.out.at(0, 0, 5, 3)));
    EXPECT_TRUE(std::isfinite(r.out.at(0, 0, 19, 4)));
    EXPECT_TRUE(std::isinf(r.out.at(0, 0, 20, 4)));
  });
}

TEST(Forward, HugeScoresNeitherOverflowNorLoseTheMaximum) {
  std::mt19937_64 random(9);
  for (const double size : {1e-20, 1e3, 1e8, 1e16}) {
    Case c = make_case({.queries = 20, .keys = 200, .width = 4, .value_width = 8}, random);
    // Powers of two times small integers: the dot products are exact in both types.
    c.query.fill([&] { return size * static_cast<double>(random() % 5); });
    c.key.fill([&] { return static_cast<double>(random() % 9) - 4; });
    c.problem.scale = 1;
    const Reference want = reference<double>(c, false);
    for_each_target([&] { expect_forward(c, run(c), want); });
  }
}

TEST(Forward, InfiniteScoresGiveWhatTheFormulaGives) {
  std::mt19937_64 random(9);
  Case c = make_case({.queries = 3, .keys = 5, .width = 1, .value_width = 2}, random);
  for (std::int64_t j = 0; j < 5; ++j) c.key.set(0, 0, j, 0, j == 2 ? 1e30 : 1);
  c.query.set(0, 0, 0, 0, 1e30);   // +inf for key 2: NaN
  c.query.set(0, 0, 1, 0, -1e30);  // -inf for key 2: weight 0
  c.query.set(0, 0, 2, 0, 1);
  for_each_target([&] {
    const Result r = run(c);
    EXPECT_TRUE(std::isnan(r.out.at(0, 0, 0, 0)));
    EXPECT_TRUE(std::isfinite(r.out.at(0, 0, 1, 0)));
    EXPECT_EQ(r.out.at(0, 0, 2, 0), c.value.at(0, 0, 2, 0));
  });
}

static void expect_same_bits(Type type) {
  std::mt19937_64 random(11);
  const std::int64_t size_of_type = type == Type::bfloat16 ? 2 : 4;
  for (int n = 0; n < 40; ++n) {
    Case c = random_case(type, random);
    c.problem.dropout = 0;
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const Result one = run(c);
    omp_set_num_threads(3);
    const Result three = run(c);
    omp_set_num_threads(threads);
    EXPECT_TRUE(one.out.buffer == three.out.buffer) << c.describe();
    EXPECT_TRUE(one.state == three.state) << c.describe();
    for (std::int64_t b = 0; b < c.problem.batch; ++b) {  // each entry alone
      Case alone = c;
      alone.connect();
      AttentionProblem& p = alone.problem;
      const auto skip = [&](Input& x, std::int64_t bytes) {
        if (x.data != nullptr) x.data = static_cast<const char*>(x.data) + b * x.stride[0] * bytes;
      };
      for (Input* x : {&p.query, &p.key, &p.value}) skip(*x, size_of_type);
      skip(p.mask, 1), skip(p.bias, p.bias_type == Type::float32 ? 4 : 2);
      skip(p.row_bias, 4), skip(p.column_bias, 4);
      if (p.lengths != nullptr) p.lengths += b;
      p.batch = 1;
      const Result part = run(alone);
      const std::int64_t size = p.heads * p.queries * p.value_width;
      bool same = true;
      for (std::int64_t i = 0; i < size; ++i) {
        const double x = part.out.buffer.get(i), y = one.out.buffer.get(b * size + i);
        same &= x == y || (std::isnan(x) && std::isnan(y));
      }
      EXPECT_TRUE(same) << c.describe();
    }
  }
}

TEST(Forward, SameBitsAtAnyThreadCountAndInAnyBatch) {
  for_each_target([] {
    expect_same_bits(Type::float32);
    expect_same_bits(Type::bfloat16);
  });
}

TEST(Forward, RejectsWhatHasNoMeaning) {
  std::mt19937_64 random(1);
  const Case c = make_case({.heads = 3, .kv_heads = 3}, random);
  const auto rejects = [&](auto&& change) {
    AttentionProblem p = c.problem;
    change(p);
    EXPECT_THROW(attention_forward(p, {}), std::invalid_argument);
  };
  rejects([](AttentionProblem& p) { p.kv_heads = 2; });
  rejects([](AttentionProblem& p) { p.scale = std::numeric_limits<double>::quiet_NaN(); });
  rejects([](AttentionProblem& p) { p.dropout = 1.5; });
  rejects([](AttentionProblem& p) { p.softcap = -1; });
  rejects([](AttentionProblem& p) { p.queries = -1; });
}

}  // namespace heed::kernels::testing
