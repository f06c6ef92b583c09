#include "heed/kernels/multi.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "heed/kernels/random.hpp"
#include "kernels/compare.hpp"
#include "kernels/reference.hpp"
#include "kernels/support.hpp"

namespace heed::kernels::testing {

static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct MultiGradients {
  std::vector<double> out, query, key, value, weight;
};

/// The plain formula in double: the features one after another, each an additive attention of one
/// value feature whose w is a column of Wd.
static MultiGradients plain_multi(const Case& c) {
  const AttentionProblem& p = c.problem;
  const std::int64_t V = p.value_width, D = p.width;
  MultiGradients sum;
  sum.out.assign(at(p.batch * p.heads * p.queries * V), 0);
  sum.query.assign(at(p.batch * p.heads * p.queries * D), 0);
  sum.key.assign(at(p.batch * p.kv_heads * p.keys * D), 0);
  sum.value.assign(at(p.batch * p.kv_heads * p.keys * V), 0);
  sum.weight.assign(at(p.heads * D * V), 0);
  for (std::int64_t v = 0; v < V; ++v) {
    Case one = c;
    one.problem.value_width = 1;
    one.problem.weight_stride = p.weight_stride == 0 ? 0 : D;
    one.value = Tensor(p.type, {p.batch, p.kv_heads, p.keys, 1});
    one.grad_out = Tensor(p.type, {p.batch, p.heads, p.queries, 1});
    const auto narrow = [&](const Tensor& from, Tensor& to) {
      for (std::int64_t b = 0; b < to.shape[0]; ++b)
        for (std::int64_t h = 0; h < to.shape[1]; ++h)
          for (std::int64_t i = 0; i < to.shape[2]; ++i) to.set(b, h, i, 0, from.at(b, h, i, v));
    };
    narrow(c.value, one.value), narrow(c.grad_out, one.grad_out);
    const std::int64_t matrices = p.weight_stride == 0 ? 1 : p.heads;
    one.weight = Buffer(c.working(), matrices * D + 1);
    for (std::int64_t i = 0; i < matrices * D; ++i) one.weight.set(i, c.weight.get(i * V + v));
    one.connect();
    const Reference r = reference<double>(one, true);
    for (std::size_t i = 0; i < r.out.size(); ++i) sum.out[i * at(V) + at(v)] = r.out[i];
    for (std::size_t i = 0; i < r.grad_value.size(); ++i)
      sum.value[i * at(V) + at(v)] = r.grad_value[i];
    for (std::size_t i = 0; i < r.grad_query.size(); ++i) sum.query[i] += r.grad_query[i];
    for (std::size_t i = 0; i < r.grad_key.size(); ++i) sum.key[i] += r.grad_key[i];
    for (std::size_t i = 0; i < r.grad_weight.size(); ++i)
      sum.weight[i * at(V) + at(v)] = r.grad_weight[i];
  }
  return sum;
}

struct MultiResult {
  Tensor out, query, key, value;
  Buffer weight;
};

static MultiResult run(const Case& c, Layout layout) {
  const AttentionProblem& p = c.problem;
  const std::int64_t rows = p.batch * p.heads * p.queries;
  MultiResult r{Tensor(p.type, c.grad_out.shape, layout), Tensor(p.type, c.query.shape, layout),
                Tensor(p.type, c.key.shape, layout), Tensor(p.type, c.value.shape, layout),
                Buffer(c.working(), p.heads * p.width * p.value_width + 1, 5)};
  Buffer state(c.working(), 2 * rows * p.value_width + 1, 5);
  multi_forward(p, {.out = r.out.output(), .state = state.data()});
  EXPECT_EQ(state.get(state.size() - 1), 5) << "wrote past the state";
  multi_backward(p, {.out = r.out.input(), .grad_out = c.grad_out.input(), .state = state.data()},
                 {.query = r.query.output(),
                  .key = r.key.output(),
                  .value = r.value.output(),
                  .weight = r.weight.data()});
  EXPECT_EQ(r.weight.get(r.weight.size() - 1), 5) << "wrote past the matrix";
  return r;
}

static Case random_multi(Type type, std::mt19937_64& random) {
  Case c = random_case(type, random);
  AttentionProblem& p = c.problem;
  p.sink = nullptr, c.sink = Buffer();
  p.row_bias = p.column_bias = {}, c.row_bias = c.column_bias = Buffer();
  make_additive(c, random);
  const std::int64_t matrices = p.weight_stride == 0 ? 1 : p.heads;
  p.weight_stride = p.weight_stride == 0 ? 0 : p.width * p.value_width;
  std::normal_distribution<double> normal;
  c.weight = Buffer(c.working(), matrices * p.width * p.value_width + 1);
  for (std::int64_t i = 0; i + 1 < c.weight.size(); ++i) c.weight.set(i, normal(random));
  c.connect();
  return c;
}

static void expect_tensor(const char* name, const Tensor& got, const std::vector<double>& want,
                          double allowed) {
  const auto [B, H, N, W] = got.shape;
  expect_close(
      name, B * H * N * W,
      [&, H = H, N = N, W = W](std::int64_t i) {
        return got.at(i / W / N / H, i / W / N % H, i / W % N, i % W);
      },
      [&](std::int64_t i) { return want[at(i)]; }, allowed);
}

TEST(Multi, MatchesThePlainFormulaForwardAndBackward) {
  std::mt19937_64 random(43);
  for (int n = 0; n < 60; ++n) {
    const Type type = n % 3 == 0 ? Type::float32 : n % 3 == 1 ? Type::float64 : Type::bfloat16;
    Case c = random_multi(type, random);
    if (n % 2 == 0) poison(c, random);
    const MultiGradients want = plain_multi(c);
    for_each_target([&] {
      SCOPED_TRACE(c.describe());
      const MultiResult r = run(c, static_cast<Layout>(n % 3));
      const double allowed = tolerance(type);
      expect_tensor("out", r.out, want.out, allowed);
      expect_tensor("query", r.query, want.query, 5 * allowed);
      expect_tensor("key", r.key, want.key, 5 * allowed);
      expect_tensor("value", r.value, want.value, 5 * allowed);
      expect_close(
          "weight", static_cast<std::int64_t>(want.weight.size()),
          [&](std::int64_t i) { return r.weight.get(i); },
          [&](std::int64_t i) { return want.weight[at(i)]; }, 5 * allowed);
    });
    if (HasFailure()) return;
  }
}

TEST(Multi, SameBitsAtAnyThreadCount) {
  std::mt19937_64 random(47);
  for (int n = 0; n < 10; ++n) {
    const Case c = random_multi(Type::float32, random);
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const MultiResult one = run(c, Layout::bhld);
    omp_set_num_threads(3);
    const MultiResult three = run(c, Layout::bhld);
    omp_set_num_threads(threads);
    EXPECT_TRUE(one.out.buffer == three.out.buffer && one.query.buffer == three.query.buffer &&
                one.key.buffer == three.key.buffer && one.value.buffer == three.value.buffer &&
                one.weight == three.weight)
        << c.describe();
  }
}

TEST(Multi, WhatItDoesNotServeIsAnError) {
  std::mt19937_64 random(1);
  Case c = random_multi(Type::float32, random);
  c.problem.align = Align::sparsemax;
  EXPECT_THROW(multi_forward(c.problem, {}), std::invalid_argument);
}

}  // namespace heed::kernels::testing
