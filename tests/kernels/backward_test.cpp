#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>

#include "kernels/compare.hpp"
#include "kernels/reference.hpp"
#include "kernels/support.hpp"

namespace heed::kernels::testing {

struct Gradients {
  Tensor query, key, value;
  Buffer bias, row, column, sink, alpha, center, weight;
};

static Gradients run(const Case& c, Layout layout = Layout::bhld) {
  const AttentionProblem& p = c.problem;
  const std::int64_t rows = p.batch * p.heads * p.queries, columns = p.batch * p.heads * p.keys;
  Tensor out(p.type, {p.batch, p.heads, p.queries, p.value_width}, layout);
  Buffer state(c.working(), kRowState * rows + 1);
  Tensor mean(c.working(), out.shape), drift(c.working(), out.shape);
  attention_forward(p, {.out = out.output(),
                        .state = state.data(),
                        .mean = needs_mean(p) ? mean.output() : Output{},
                        .drift = drift.output()});
  Gradients g{
      Tensor(p.type, c.query.shape, layout), Tensor(p.type, c.key.shape, layout),
      Tensor(p.type, c.value.shape, layout), Buffer(c.working(), c.bias.buffer.size() + 1, 5),
      Buffer(c.working(), rows + 1, 5),      Buffer(c.working(), columns + 1, 5),
      Buffer(c.working(), p.heads + 1, 5),   Buffer(c.working(), p.heads + 1, 5),
      Buffer(c.working(), rows + 1, 5),      Buffer(c.working(), p.heads * p.width + 1, 5)};
  const bool bias = p.bias.data != nullptr, sink = p.sink != nullptr;
  attention_backward(p,
                     {.out = out.input(),
                      .grad_out = c.grad_out.input(),
                      .state = state.data(),
                      .mean = mean.input(),
                      .drift = drift.input(),
                      .grad_lse = c.grad_lse.empty() ? nullptr : c.grad_lse.data()},
                     {.query = g.query.output(),
                      .key = g.key.output(),
                      .value = g.value.output(),
                      .bias = {bias ? g.bias.data() : nullptr, p.bias.stride},
                      .row_bias = g.row.data(),
                      .column_bias = g.column.data(),
                      .sink = sink ? g.sink.data() : nullptr,
                      .alpha = p.alpha != nullptr ? g.alpha.data() : nullptr,
                      .center = p.center.data != nullptr ? g.center.data() : nullptr,
                      .weight = p.score == Score::additive ? g.weight.data() : nullptr});
  EXPECT_EQ(g.row.get(rows), 5) << "wrote past the row gradients";
  EXPECT_EQ(g.column.get(columns), 5) << "wrote past the column gradients";
  EXPECT_EQ(g.bias.get(c.bias.buffer.size()), 5) << "wrote past the bias gradients";
  EXPECT_EQ(g.sink.get(p.heads), 5) << "wrote past the sink gradients";
  return g;
}

static void expect_tensor(const std::string& name, const Tensor& got,
                          const std::vector<double>& want, double tolerance) {
  const auto [B, H, N, W] = got.shape;
  expect_close(
      name, B * H * N * W,
      [&, H = H, N = N, W = W](std::int64_t i) {
        return got.at(i / W / N / H, i / W / N % H, i / W % N, i % W);
      },
      [&](std::int64_t i) { return want[static_cast<std::size_t>(i)]; }, tolerance);
}

static void expect_gradients(const Case& c, const Gradients& g, const Reference& want) {
  SCOPED_TRACE(c.describe());
  const AttentionProblem& p = c.problem;
  const double allowed = 5 * tolerance(p.type);  // sums over queries and keys of rounded outputs
  expect_tensor("query", g.query, want.grad_query, allowed);
  expect_tensor("key", g.key, want.grad_key, allowed);
  expect_tensor("value", g.value, want.grad_value, allowed);
  const auto expect_array = [&](const char* name, const Buffer& got,
                                const std::vector<double>& all) {
    expect_close(
        name, static_cast<std::int64_t>(all.size()), [&](std::int64_t i) { return got.get(i); },
        [&](std::int64_t i) { return all[static_cast<std::size_t>(i)]; }, allowed);
  };
  expect_array("row", g.row, want.grad_row);
  expect_array("column", g.column, want.grad_column);
  if (p.sink != nullptr) expect_array("sink", g.sink, want.grad_sink);
  if (p.score == Score::additive) expect_array("weight", g.weight, want.grad_weight);
  if (p.alpha != nullptr) expect_array("alpha", g.alpha, want.grad_alpha);
  if (p.center.data != nullptr) expect_array("center", g.center, want.grad_center);
  if (p.bias.data != nullptr) {  // the reference is not broadcast: sum it as the strides say
    std::vector<double> sums(static_cast<std::size_t>(c.bias.buffer.size()), 0);
    std::vector<std::uint8_t> used(sums.size(), 0);
    for (std::int64_t i = 0; i < p.batch * p.heads * p.queries * p.keys; ++i) {
      const std::int64_t k = i % p.keys, q = i / p.keys % p.queries,
                         h = i / p.keys / p.queries % p.heads, b = i / p.keys / p.queries / p.heads;
      const auto at = static_cast<std::size_t>(b * p.bias.stride[0] + h * p.bias.stride[1] +
                                               q * p.bias.stride[2] + k * p.bias.stride[3]);
      sums[at] += want.grad_bias[static_cast<std::size_t>(i)];
      used[at] = 1;
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (!used[i]) sums[i] = g.bias.get(static_cast<std::int64_t>(i));
    }
    expect_array("bias", g.bias, sums);
  }
}

static void check_random(Type type, int count, Align align = Align::soft, bool additive = false) {
  std::mt19937_64 random(17);
  for (int n = 0; n < count; ++n) {
    Case c =
        align == Align::soft ? random_case(type, random) : random_aligned_case(type, align, random);
    if (additive) make_additive(c, random);
    if (n % 2 == 0) poison(c, random);
    const Reference want = reference<double>(c, true);
    const auto layout = static_cast<Layout>(n % 3);
    for_each_target([&] { expect_gradients(c, run(c, layout), want); });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Backward, MatchesThePlainFormulaOnAnyFloat32Problem) { check_random(Type::float32, 300); }
TEST(Backward, MatchesThePlainFormulaOnAnyFloat64Problem) { check_random(Type::float64, 100); }
TEST(Backward, MatchesThePlainFormulaOnAnyBfloat16Problem) { check_random(Type::bfloat16, 100); }
TEST(Backward, MatchesThePlainFormulaOnAnyFloat16Problem) { check_random(Type::float16, 100); }

TEST(Backward, AdditiveScoresMatchThePlainFormula) {
  check_random(Type::float64, 60, Align::soft, true);
  check_random(Type::float32, 60, Align::soft, true);
  check_random(Type::bfloat16, 20, Align::soft, true);
  check_random(Type::float64, 20, Align::sparsemax, true);
  check_random(Type::float64, 20, Align::local_p, true);
}

class BackwardAligned : public ::testing::TestWithParam<Align> {};

TEST_P(BackwardAligned, MatchesThePlainFormula) {
  check_random(Type::float64, 60, GetParam());
  check_random(Type::float32, 60, GetParam());
  check_random(Type::bfloat16, 20, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Kinds, BackwardAligned,
                         ::testing::Values(Align::sparsemax, Align::entmax15, Align::entmax,
                                           Align::sigmoid, Align::top_k, Align::hard,
                                           Align::local_p));

TEST(Backward, MatchesCentralDifferencesInDouble) {
  std::mt19937_64 random(23);
  for (int n = 0; n < 12; ++n) {
    Case c = make_case({.type = Type::float64,
                        .batch = 1,
                        .heads = 2,
                        .kv_heads = 1,
                        .queries = 5,
                        .keys = 7,
                        .width = 3,
                        .value_width = 2},
                       random);
    c.problem.softcap = n % 2 == 0 ? 2 : 0;
    c.problem.activation = static_cast<Activation>(n % 5);
    c.problem.causal = n % 3 == 0 ? Causal::bottom_right : Causal::none;
    const Gradients g = run(c);
    const auto loss = [&] {
      const Reference r = reference<double>(c, false);
      double sum = 0;
      for (std::int64_t i = 0; i < c.grad_out.buffer.size(); ++i) {
        sum += r.out[static_cast<std::size_t>(i)] * c.grad_out.buffer.get(i);
      }
      return sum;
    };
    const auto expect_slope = [&](Tensor& x, const Tensor& grad) {
      for (std::int64_t i = 0; i < x.buffer.size(); ++i) {
        const double at = x.buffer.get(i), step = 1e-5;
        x.buffer.set(i, at + step);
        const double above = loss();
        x.buffer.set(i, at - step);
        const double below = loss();
        x.buffer.set(i, at);
        EXPECT_NEAR(grad.buffer.get(i), (above - below) / (2 * step), 1e-7) << c.describe();
      }
    };
    expect_slope(c.query, g.query);
    expect_slope(c.key, g.key);
    expect_slope(c.value, g.value);
  }
}

TEST(Backward, ErrorIsAtMostTwiceThePlainFormulas) {
  std::mt19937_64 random(29);
  for (const auto& [type, unit] : {std::pair{Type::float32, 0x1p-23}, {Type::bfloat16, 0x1p-7}}) {
    Case c = make_case({.type = type,
                        .batch = 2,
                        .heads = 4,
                        .kv_heads = 4,
                        .queries = 200,
                        .keys = 300,
                        .width = 64,
                        .value_width = 64},
                       random);
    const Reference exact = reference<double>(c, true), plain = reference<float>(c, true);
    for_each_target([&] {
      SCOPED_TRACE(c.describe());
      const Gradients g = run(c);
      const auto check = [&](const char* name, const Tensor& got, const std::vector<double>& want,
                             const std::vector<double>& simple) {
        Errors ours, theirs;
        Buffer rounded(type, 1);  // the plain formula in float32, its result rounded once
        for (std::size_t i = 0; i < want.size(); ++i) {
          ours.add(got.buffer.get(static_cast<std::int64_t>(i)), want[i]);
          rounded.set(0, simple[i]);
          theirs.add(rounded.get(0), want[i]);
        }
        expect_rule_10(name, ours, theirs, unit);
      };
      check("query", g.query, exact.grad_query, plain.grad_query);
      check("key", g.key, exact.grad_key, plain.grad_key);
      check("value", g.value, exact.grad_value, plain.grad_value);
    });
  }
}

TEST(Backward, NaNInAPaddingQueryStaysThere) {
  // Row 3 sees nothing and is NaN: its own gradient is 0 and no key feels it.
  std::mt19937_64 random(31);
  Case c = make_case({.queries = 6, .keys = 20, .width = 5, .value_width = 5}, random);
  c.mask.assign(6 * 20, 1);
  std::fill(c.mask.begin() + 60, c.mask.begin() + 80, 0);
  c.problem.mask.stride = {0, 0, 20, 1};
  c.connect();
  const Reference want = reference<double>(c, true);
  for (std::int64_t w = 0; w < 5; ++w) {
    c.query.set(0, 0, 3, w, std::numeric_limits<double>::quiet_NaN());
  }
  for_each_target([&] { expect_gradients(c, run(c), want); });
}

static void expect_same_bits(Type type) {
  std::mt19937_64 random(37);
  const std::int64_t size_of_type = type == Type::bfloat16 ? 2 : 4;
  const auto same = [](const Buffer& a, std::int64_t from, const Buffer& b, std::int64_t size) {
    for (std::int64_t i = 0; i < size; ++i) {
      const double x = a.get(from + i), y = b.get(i);
      if (x != y && !(std::isnan(x) && std::isnan(y))) return false;
    }
    return true;
  };
  for (int n = 0; n < 40; ++n) {
    Case c = n % 4 == 0 ? make_case({.type = type,
                                     .batch = 2,
                                     .heads = 2,
                                     .kv_heads = 1,
                                     .queries = 150,
                                     .keys = 900,
                                     .width = 16,
                                     .value_width = 16},
                                    random)
                        : random_case(type, random);
    c.problem.dropout = 0;
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const Gradients one = run(c);
    omp_set_num_threads(3);
    const Gradients three = run(c);
    omp_set_num_threads(threads);
    EXPECT_TRUE(one.query.buffer == three.query.buffer) << c.describe();
    EXPECT_TRUE(one.key.buffer == three.key.buffer) << c.describe();
    EXPECT_TRUE(one.value.buffer == three.value.buffer) << c.describe();
    EXPECT_TRUE(one.bias == three.bias && one.row == three.row && one.column == three.column)
        << c.describe();
    EXPECT_TRUE(one.sink == three.sink) << c.describe();
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
      // The output gradient is read through its tensor: move the entry to the front.
      const auto stride = alone.grad_out.stride;
      for (std::int64_t i = 0; i < stride[0]; ++i) {
        alone.grad_out.buffer.set(i, c.grad_out.buffer.get(b * stride[0] + i));
      }
      p.batch = 1;
      alone.query.shape[0] = alone.key.shape[0] = alone.value.shape[0] = 1;
      const Gradients part = run(alone);
      const std::int64_t of_query = p.heads * p.queries * p.width;
      const std::int64_t of_key = p.kv_heads * p.keys * p.width,
                         of_value = p.kv_heads * p.keys * p.value_width;
      EXPECT_TRUE(same(one.query.buffer, b * of_query, part.query.buffer, of_query))
          << c.describe();
      EXPECT_TRUE(same(one.key.buffer, b * of_key, part.key.buffer, of_key)) << c.describe();
      EXPECT_TRUE(same(one.value.buffer, b * of_value, part.value.buffer, of_value))
          << c.describe();
    }
  }
}

TEST(Backward, SameBitsAtAnyThreadCountAndInAnyBatch) {
  for_each_target([] {
    expect_same_bits(Type::float32);
    expect_same_bits(Type::bfloat16);
  });
}

}  // namespace heed::kernels::testing
