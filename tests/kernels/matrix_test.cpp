#include "heed/kernels/matrix.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cstring>

#include "kernels/compare.hpp"
#include "kernels/support.hpp"

namespace heed::kernels::testing {

struct Product {
  MatrixProblem problem;
  Buffer a, b, c;

  Product(Type type, std::int64_t n, std::int64_t rows, std::int64_t columns, std::int64_t depth,
          bool transposed, std::mt19937_64& random)
      : a(type, n * rows * depth + 1),
        b(type, n * depth * columns + 1),
        c(type, n * rows * columns + 1, 5) {
    std::normal_distribution<double> normal;
    for (Buffer* x : {&a, &b}) {
      for (std::int64_t i = 0; i < x->size(); ++i) x->set(i, normal(random));
    }
    problem = {.type = type, .matrices = n, .rows = rows, .columns = columns, .depth = depth};
    problem.a_stride = transposed ? std::array{rows * depth, std::int64_t{1}, rows}
                                  : std::array{rows * depth, depth, std::int64_t{1}};
    problem.b_stride = transposed ? std::array{depth * columns, std::int64_t{1}, depth}
                                  : std::array{depth * columns, columns, std::int64_t{1}};
    problem.c_stride = {rows * columns, columns, 1};
  }

  void run() {
    problem.a = a.data(), problem.b = b.data(), problem.c = c.data();
    matrix_product(problem);
  }
};

void expect_plain_loops(Product& x) {
  const MatrixProblem& p = x.problem;
  std::vector<double> sums(static_cast<std::size_t>(p.matrices * p.rows * p.columns));
  for (std::size_t at = 0; at < sums.size(); ++at) {
    const auto i = static_cast<std::int64_t>(at);
    const std::int64_t column = i % p.columns, row = i / p.columns % p.rows,
                       m = i / p.columns / p.rows;
    for (std::int64_t k = 0; k < p.depth; ++k) {
      sums[at] += x.a.get(m * p.a_stride[0] + row * p.a_stride[1] + k * p.a_stride[2]) *
                  x.b.get(m * p.b_stride[0] + k * p.b_stride[1] + column * p.b_stride[2]);
    }
  }
  for_each_target([&] {
    x.run();
    EXPECT_EQ(x.c.get(x.c.size() - 1), 5) << "wrote past the result";
    expect_close(
        "product", p.matrices * p.rows * p.columns, [&](std::int64_t i) { return x.c.get(i); },
        [&](std::int64_t i) { return sums[static_cast<std::size_t>(i)]; }, tolerance(p.type));
  });
}

TEST(Matrix, MatchesPlainLoops) {
  std::mt19937_64 random(3);
  const auto pick = [&](std::vector<std::int64_t> from) { return from[random() % from.size()]; };
  for (int n = 0; n < 120 && !HasFailure(); ++n) {
    Product x(static_cast<Type>(n % 4), pick({1, 2}), pick({0, 1, 5, 6, 47, 48, 49, 100}),
              pick({1, 3, 8, 17, 255, 300}), pick({0, 1, 7, 33}), n % 3 == 0, random);
    expect_plain_loops(x);
  }
}

// Beyond 512 it is summed by blocks, and for more rows at a time.
TEST(Matrix, MatchesPlainLoopsWhereItIsDeep) {
  std::mt19937_64 random(4);
  const auto pick = [&](std::vector<std::int64_t> from) { return from[random() % from.size()]; };
  for (int n = 0; n < 24 && !HasFailure(); ++n) {
    Product x(static_cast<Type>(n % 4), 2, pick({1, 95, 96, 97}), pick({1, 17, 257}),
              pick({512, 513, 768, 1001}), n % 3 == 0, random);
    expect_plain_loops(x);
  }
}

void expect_same_bits(std::int64_t depth) {
  std::mt19937_64 random(5);
  Product x(Type::float32, 1, 200, 70, depth, false, random);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  x.run();
  const Buffer one = x.c;
  omp_set_num_threads(3);
  x.run();
  omp_set_num_threads(threads);
  EXPECT_TRUE(one == x.c);
  const float* all = static_cast<const float*>(one.data());
  for (std::int64_t row = 0; row < 200; row += 33) {
    std::vector<float> alone(70);
    MatrixProblem p = x.problem;
    p.rows = 1;
    p.a = static_cast<const float*>(x.a.data()) + row * depth;
    p.c = alone.data();
    matrix_product(p);
    EXPECT_EQ(std::memcmp(alone.data(), all + row * 70, 70 * sizeof(float)), 0) << row;
  }
}

TEST(Matrix, ARowHasTheSameBitsAloneAndAtAnyThreadCount) {
  for (const std::int64_t depth : {90, 1000}) expect_same_bits(depth);
}

}  // namespace heed::kernels::testing
