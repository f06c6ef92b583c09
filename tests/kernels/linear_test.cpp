#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/compare.hpp"
#include "kernels/linear_reference.hpp"

namespace heed::kernels::testing {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// All results of both passes, in the order of LinearReference.
struct LinearRun {
  Tensor out, state, query, key, value, decay, beta, initial;
};

static LinearRun run(const LinearCase& c, Layout layout = Layout::bhld, bool backward = true) {
  const LinearProblem& p = c.problem;
  const Type type = p.type, working = c.working();
  LinearRun r{Tensor(type, c.grad_out.shape, layout), Tensor(working, c.state.shape, layout),
              Tensor(type, c.query.shape, layout),    Tensor(type, c.key.shape, layout),
              Tensor(type, c.value.shape, layout),    Tensor(working, c.decay.shape, layout),
              Tensor(working, c.beta.shape, layout),  Tensor(working, c.state.shape, layout)};
  linear_forward(p, {.out = r.out.output(), .state = r.state.output()});
  if (!backward) return r;
  linear_backward(p, c.given(),
                  {.query = r.query.output(),
                   .key = r.key.output(),
                   .value = r.value.output(),
                   .decay = has_decay(p.rule) ? r.decay.output() : Output{},
                   .beta = has_beta(p.rule) ? r.beta.output() : Output{},
                   .state = r.initial.output()});
  return r;
}

static double element(const Tensor& x, std::int64_t i) {
  const std::int64_t W = x.shape[3], N = x.shape[2], H = x.shape[1];
  return x.at(i / W / N / H, i / W / N % H, i / W % N, i % W);
}

static void expect_tensor(const std::string& name, const Tensor& got,
                          const std::vector<double>& want, double relative) {
  ASSERT_EQ(got.shape[0] * got.shape[1] * got.shape[2] * got.shape[3],
            static_cast<std::int64_t>(want.size()));
  expect_close(
      name, static_cast<std::int64_t>(want.size()), [&](std::int64_t i) { return element(got, i); },
      [&](std::int64_t i) { return want[static_cast<std::size_t>(i)]; }, relative);
  // Between the elements of a layout with gaps nothing is written.
  if (got.stride[3] == 2) {
    for (std::int64_t i = 1; i < got.buffer.size(); i += 2) {
      ASSERT_TRUE(std::isnan(got.buffer.get(i))) << name << ": wrote between its elements";
    }
  }
}

static void expect_all(const LinearCase& c, const LinearRun& got, const LinearReference& want) {
  SCOPED_TRACE(c.describe());
  const double once = tolerance(c.problem.type), sums = 5 * once;
  const double exact = c.working() == Type::float64 ? once : tolerance(Type::float32);
  expect_tensor("out", got.out, want.out, once);
  expect_tensor("state", got.state, want.state, exact);
  expect_tensor("query", got.query, want.query, sums);
  expect_tensor("key", got.key, want.key, sums);
  expect_tensor("value", got.value, want.value, sums);
  if (has_decay(c.problem.rule)) expect_tensor("decay", got.decay, want.decay, 5 * exact);
  if (has_beta(c.problem.rule)) expect_tensor("beta", got.beta, want.beta, 5 * exact);
  expect_tensor("initial", got.initial, want.initial, 5 * exact);
}

static void check_random(Type type, int count) {
  std::mt19937_64 random(41);
  for (int n = 0; n < count; ++n) {
    const LinearCase c = random_linear_case(type, random);
    const LinearReference want = linear_reference<double>(c, true);
    for_each_target([&] { expect_all(c, run(c, static_cast<Layout>(n % 3)), want); });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Linear, MatchesThePlainRecurrenceOnAnyFloat32Problem) { check_random(Type::float32, 200); }
TEST(Linear, MatchesThePlainRecurrenceOnAnyFloat64Problem) { check_random(Type::float64, 120); }
TEST(Linear, MatchesThePlainRecurrenceOnAnyBfloat16Problem) { check_random(Type::bfloat16, 60); }
TEST(Linear, MatchesThePlainRecurrenceOnAnyFloat16Problem) { check_random(Type::float16, 60); }

/// Every rule, and both kinds of decay where it has one.
static void for_each_rule(const std::function<void(LinearRule, bool)>& f) {
  for (const LinearRule rule :
       {LinearRule::linear, LinearRule::gated, LinearRule::delta, LinearRule::gated_delta}) {
    for (int wide = 0; wide <= (has_decay(rule) ? 1 : 0); ++wide) f(rule, wide == 1);
  }
}

TEST(Linear, GradientsMatchCentralDifferencesInDouble) {
  std::mt19937_64 random(43);
  for_each_rule([&](LinearRule rule, bool wide) {
    LinearCase c = make_linear_case({.type = Type::float64,
                                     .rule = rule,
                                     .heads = 2,
                                     .kv_heads = 1,
                                     .length = 5,
                                     .width = 3,
                                     .value_width = 2,
                                     .wide_decay = wide},
                                    random);
    const LinearRun got = run(c);
    const auto loss = [&] {
      const LinearRun r = run(c, Layout::bhld, false);
      double sum = 0;
      for (std::int64_t i = 0; i < r.out.buffer.size(); ++i) {
        sum += r.out.buffer.get(i) * c.grad_out.buffer.get(i);
      }
      for (std::int64_t i = 0; i < r.state.buffer.size(); ++i) {
        sum += r.state.buffer.get(i) * c.grad_state.buffer.get(i);
      }
      return sum;
    };
    const auto expect_slope = [&](const char* name, Tensor& x, const Tensor& grad) {
      for (std::int64_t i = 0; i < x.buffer.size(); ++i) {
        const double at = x.buffer.get(i), step = 1e-5;
        x.buffer.set(i, at + step);
        const double above = loss();
        x.buffer.set(i, at - step);
        const double below = loss();
        x.buffer.set(i, at);
        EXPECT_NEAR(grad.buffer.get(i), (above - below) / (2 * step), 1e-7)
            << name << " " << i << ": " << c.describe();
      }
    };
    expect_slope("query", c.query, got.query);
    expect_slope("key", c.key, got.key);
    expect_slope("value", c.value, got.value);
    if (has_decay(rule)) expect_slope("decay", c.decay, got.decay);
    if (has_beta(rule)) expect_slope("beta", c.beta, got.beta);
    expect_slope("state", c.state, got.initial);
  });
}

TEST(Linear, ErrorIsAtMostTwiceThePlainRecurrences) {
  std::mt19937_64 random(47);
  for_each_rule([&](LinearRule rule, bool wide) {
    const LinearCase c = make_linear_case({.rule = rule,
                                           .batch = 2,
                                           .heads = 4,
                                           .kv_heads = 4,
                                           .length = 200,
                                           .width = 64,
                                           .value_width = 64,
                                           .wide_decay = wide},
                                          random);
    const LinearReference exact = linear_reference<double>(c, true);
    const LinearReference plain = linear_reference<float>(c, true);
    for_each_target([&] {
      SCOPED_TRACE(c.describe());
      const LinearRun got = run(c);
      const auto check = [&](const char* name, const Tensor& x, const std::vector<double>& want,
                             const std::vector<double>& simple) {
        Errors ours, theirs;
        for (std::size_t i = 0; i < want.size(); ++i) {
          ours.add(x.buffer.get(static_cast<std::int64_t>(i)), want[i]);
          theirs.add(simple[i], want[i]);
        }
        expect_rule_10(name, ours, theirs, 0x1p-23);
      };
      check("out", got.out, exact.out, plain.out);
      check("query", got.query, exact.query, plain.query);
      check("key", got.key, exact.key, plain.key);
      check("value", got.value, exact.value, plain.value);
      if (wide) check("decay", got.decay, exact.decay, plain.decay);
    });
  });
}

TEST(Linear, AnyFiniteDecayIsAsGoodAsInThePlainRecurrence) {
  // Forgetting almost everything between steps that keep almost all, and some growth: differences
  // of summed decays would cancel here, and quotients overflow.
  std::mt19937_64 random(53);
  for (const bool wide : {false, true}) {
    LinearCase c = make_linear_case({.rule = LinearRule::gated_delta,
                                     .length = 50,
                                     .width = 16,
                                     .value_width = 16,
                                     .wide_decay = wide},
                                    random);
    int n = 0;
    c.decay.fill([&] {
      constexpr double kDecays[] = {-1e-4, -900, -0.01, -30, 0, 0.2, -1e30};
      return kDecays[n++ / 3 % 7];
    });
    const LinearReference want = linear_reference<double>(c, true);
    for_each_target([&] { expect_all(c, run(c), want); });
  }
}

TEST(Linear, LaterStepsNeverReachEarlierOutputs) {
  std::mt19937_64 random(59);
  for_each_rule([&](LinearRule rule, bool wide) {
    const LinearCase clean = make_linear_case(
        {.rule = rule, .length = 40, .width = 12, .value_width = 9, .wide_decay = wide}, random);
    for (const std::int64_t bad : {std::int64_t{7}, std::int64_t{33}}) {
      LinearCase c = clean;
      for (Tensor* x : {&c.query, &c.key, &c.value, &c.decay, &c.beta}) {
        for (std::int64_t t = bad; t < 40; ++t) x->set(0, 0, t, 0, kNaN);
      }
      c.connect();
      for_each_target([&] {
        const LinearRun got = run(c, Layout::bhld, false), want = run(clean, Layout::bhld, false);
        for (std::int64_t t = 0; t < bad; ++t) {
          for (std::int64_t j = 0; j < 9; ++j) {
            ASSERT_EQ(got.out.at(0, 0, t, j), want.out.at(0, 0, t, j))
                << c.describe() << " step " << t;
          }
        }
        EXPECT_TRUE(std::isnan(got.out.at(0, 0, bad, 0))) << c.describe();
      });
    }
  });
}

TEST(Linear, TwoCallsThatPassTheStateEqualOne) {
  std::mt19937_64 random(61);
  for_each_rule([&](LinearRule rule, bool wide) {
    LinearCase c = make_linear_case(
        {.type = Type::float64, .rule = rule, .length = 50, .wide_decay = wide}, random);
    const LinearReference want = linear_reference<double>(c, false);
    for_each_target([&] {
      LinearProblem first = c.problem, second = c.problem;
      Tensor out(Type::float64, c.grad_out.shape), between(Type::float64, c.state.shape),
          last(Type::float64, c.state.shape);
      first.length = 19;
      linear_forward(first, {.out = out.output(), .state = between.output()});
      second.length = 31;
      const auto skip = [](Input& x, std::int64_t row) {
        if (x.data != nullptr) x.data = static_cast<const double*>(x.data) + row * x.stride[2];
      };
      for (Input* x : {&second.query, &second.key, &second.value, &second.decay, &second.beta}) {
        skip(*x, 19);
      }
      second.state = between.input();
      Output rest = out.output();
      rest.data = static_cast<double*>(rest.data) + 19 * rest.stride[2];
      linear_forward(second, {.out = rest, .state = last.output()});
      expect_tensor("out", out, want.out, 1e-12);
      expect_tensor("state", last, want.state, 1e-12);
    });
  });
}

TEST(Linear, SameBitsAtAnyThreadCountAndForAnEntryAlone) {
  std::mt19937_64 random(67);
  for (int n = 0; n < 24; ++n) {
    LinearCase c = n % 2 == 0 ? make_linear_case({.rule = static_cast<LinearRule>(n / 2 % 4),
                                                  .batch = 2,
                                                  .heads = 4,
                                                  .kv_heads = 2,
                                                  .length = 70,
                                                  .width = 32,
                                                  .value_width = 150,
                                                  .wide_decay = n % 8 >= 4},
                                                 random)
                              : random_linear_case(Type::float32, random);
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const LinearRun one = run(c);
    omp_set_num_threads(2);
    const LinearRun two = run(c);
    omp_set_num_threads(threads);
    LinearCase alone = c;  // the last entry
    alone.connect();
    const std::int64_t b = c.problem.batch - 1;
    alone.problem.batch = 1;
    for (auto [x, of] : {std::pair{&alone.query, &c.query},
                         {&alone.key, &c.key},
                         {&alone.value, &c.value},
                         {&alone.decay, &c.decay},
                         {&alone.beta, &c.beta},
                         {&alone.state, &c.state},
                         {&alone.grad_out, &c.grad_out},
                         {&alone.grad_state, &c.grad_state}}) {
      x->shape[0] = 1;
      for (std::int64_t i = 0; i < x->stride[0]; ++i) {
        x->buffer.set(i, of->buffer.get(b * x->stride[0] + i));
      }
    }
    const LinearRun part = run(alone);
    const auto expect_same = [&](const char* name, const Tensor LinearRun::*which) {
      EXPECT_TRUE((one.*which).buffer == (two.*which).buffer) << name << " " << c.describe();
      const Tensor& few = part.*which;
      const std::int64_t size = few.shape[1] * few.shape[2] * few.shape[3];
      for (std::int64_t i = 0; i < size; ++i) {
        const double x = element(one.*which, b * size + i), y = element(few, i);
        ASSERT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << name << " " << c.describe();
      }
    };
    expect_same("out", &LinearRun::out), expect_same("state", &LinearRun::state);
    expect_same("query", &LinearRun::query), expect_same("key", &LinearRun::key);
    expect_same("value", &LinearRun::value), expect_same("initial", &LinearRun::initial);
    if (has_decay(c.problem.rule)) expect_same("decay", &LinearRun::decay);
    if (has_beta(c.problem.rule)) expect_same("beta", &LinearRun::beta);
  }
}

TEST(Linear, RefusesAProblemWithoutMeaning) {
  std::mt19937_64 random(71);
  const LinearCase c = make_linear_case({.rule = LinearRule::gated_delta, .length = 3}, random);
  const auto refused = [&](const std::function<void(LinearProblem&)>& change,
                           const std::string& words) {
    LinearProblem p = c.problem;
    change(p);
    try {
      linear_forward(p, {});
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
      return;
    }
    ADD_FAILURE() << "not refused: " << words;
  };
  refused([](LinearProblem& p) { p.length = -1; }, "length is -1");
  refused([](LinearProblem& p) { p.heads = 3, p.kv_heads = 2; }, "3 heads");
  refused([](LinearProblem& p) { p.scale = kNaN; }, "scale is");
  refused([](LinearProblem& p) { p.decay = {}; }, "needs a decay");
  refused([](LinearProblem& p) { p.rule = LinearRule::gated; }, "takes no beta");
  refused([](LinearProblem& p) { p.decay_width = 5; }, "decay_width is 5");
}

}  // namespace heed::kernels::testing
