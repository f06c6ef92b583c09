// How order enters attention, each way against its definition.
#include "heed/attention/position.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>

#include "heed/mechanisms/attender.hpp"
#include "mechanisms/support.hpp"

namespace heed {
namespace {

std::shared_ptr<Position> position_of(const PartSpec& spec, std::int64_t dim,
                                      const std::string& score = "dot", std::int64_t heads = 1) {
  auto position =
      make_position(spec, {.dim = dim, .heads = heads, .head_dim = dim, .score = score});
  position->to(kFull);
  return position;
}

Asking self_asking(const Tensor& q, const Tensor& k) {
  return {.query = {.data = q, .lengths = {}, .name = "text"},
          .keys = {.data = k, .lengths = {}, .name = "text"}};
}

double at(const Tensor& x, std::initializer_list<std::int64_t> where) {
  Tensor y = x;
  for (const std::int64_t i : where) y = y[i];
  return y.item<double>();
}

TEST(Position, SinusoidalIsThePapersFormula) {
  for (const std::int64_t dim : {6, 5}) {
    const Tensor waves = position_of("sinusoidal", dim)->add(torch::zeros({1, 40, dim}, kFull));
    for (std::int64_t l = 0; l < 40; ++l) {
      for (std::int64_t d = 0; d < dim; ++d) {
        const double angle =
            static_cast<double>(l) /
            std::pow(10000.0, static_cast<double>(d / 2 * 2) / static_cast<double>(dim));
        EXPECT_NEAR(at(waves, {0, l, d}), d % 2 == 0 ? std::sin(angle) : std::cos(angle), 1e-12);
      }
    }
  }
}

TEST(Position, LearnedAddsARowAPlaceAndRefusesMorePlaces) {
  const auto position = position_of({"learned", {{"max_length", std::int64_t{7}}}}, 3);
  const Tensor x = torch::randn({2, 5, 3}, kFull);
  const Tensor rows = position->parameters().front();
  EXPECT_EQ(rows.size(0), 7);
  EXPECT_TRUE(torch::equal(position->add(x), x + rows.narrow(0, 0, 5)));
  try {
    position->add(torch::zeros({1, 8, 3}, kFull));
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the input has 8 places, 7 are learned"));
  }
}

TEST(Position, RopeTurnsPairsAsComplexNumbers) {
  torch::manual_seed(1);
  for (const bool heads_axis : {false, true}) {
    Tensor q = torch::randn({2, 3, 5, 6}, kFull), k = torch::randn({2, 3, 5, 6}, kFull);
    if (!heads_axis) q = q.select(1, 0), k = k.select(1, 0);
    const Asking placed = position_of("rope", 6)->place(self_asking(q, k));
    EXPECT_TRUE(torch::equal(placed.values, k)) << "values are not turned";
    const auto turned = [&](const Tensor& x, std::int64_t l, std::int64_t i) {
      const Tensor row = heads_axis ? x[1][2][l] : x[1][l];
      const std::complex<double> pair{at(row, {2 * i}), at(row, {2 * i + 1})};
      const double theta = std::pow(10000.0, -2.0 * static_cast<double>(i) / 6);
      return pair * std::polar(1.0, static_cast<double>(l) * theta);
    };
    for (std::int64_t l = 0; l < 5; ++l) {
      for (std::int64_t i = 0; i < 3; ++i) {
        for (const auto& [given, made] :
             {std::pair(q, placed.query.data), std::pair(k, placed.keys.data)}) {
          const Tensor row = heads_axis ? made[1][2][l] : made[1][l];
          const std::complex<double> expected = turned(given, l, i);
          EXPECT_NEAR(at(row, {2 * i}), expected.real(), 1e-12);
          EXPECT_NEAR(at(row, {2 * i + 1}), expected.imag(), 1e-12);
        }
      }
    }
  }
}

// The same query and key at every place: the product may depend on the distance alone.
TEST(Position, RopeProductsDependOnTheDistanceAlone) {
  torch::manual_seed(2);
  const Tensor q = torch::randn({8}, kFull).expand({1, 9, 8}),
               k = torch::randn({8}, kFull).expand({1, 9, 8});
  const Asking placed = position_of("rope", 8)->place(self_asking(q, k));
  const Tensor e = torch::matmul(placed.query.data, placed.keys.data.transpose(1, 2))[0];
  for (std::int64_t distance = -8; distance <= 8; ++distance) {
    const Tensor diagonal = e.diagonal(distance);
    EXPECT_LT((diagonal - diagonal[0]).abs().max().item<double>(), 1e-12) << distance;
  }
  EXPECT_GT((e[0][1] - e[0][0]).abs().item<double>(), 1e-3);
  // A query that stands behind the keys' start, as in decoding, has its own place.
  Asking later = self_asking(q.narrow(1, 0, 2), k);
  later.causal = Causal::bottom_right();
  const Tensor tail = position_of("rope", 8)->place(later).query.data;
  EXPECT_LT((tail - placed.query.data.narrow(1, 7, 2)).abs().max().item<double>(), 1e-12);
}

TEST(Position, RelativeEqualsPlainLoops) {
  torch::manual_seed(3);
  for (const std::string score : {"dot", "scaled-dot"}) {
    const auto position = position_of({"relative", {{"clip", std::int64_t{2}}}}, 4, score);
    position->parameters().front().data().normal_();
    const Tensor r = position->parameters().front();
    const Tensor q = torch::randn({2, 3, 5, 4}, kFull), k = torch::randn({2, 3, 6, 4}, kFull);
    const Asking placed = position->place(self_asking(q, k));
    AttendOptions options{.score = score, .bias = placed.bias};
    options.want.scores = true;
    const Tensor e = attend(placed.query.data, placed.keys.data, k, options).scores;
    const double scale = score == "dot" ? 1 : 0.5;
    for (std::int64_t i = 0; i < 5; ++i) {
      for (std::int64_t j = 0; j < 6; ++j) {
        const std::int64_t apart = std::min<std::int64_t>(2, std::max<std::int64_t>(-2, j - i));
        double sum = 0;
        for (std::int64_t d = 0; d < 4; ++d)
          sum += at(q, {1, 2, i, d}) * (at(k, {1, 2, j, d}) + at(r, {apart + 2, d}));
        EXPECT_NEAR(at(e, {1, 2, i, j}), scale * sum, 1e-12) << score << i << j;
      }
    }
  }
}

TEST(Position, AlibiSlopesArePowersOfTwo) {
  const Tensor x = torch::randn({1, 4, 5, 2}, kFull);
  const Tensor slopes = position_of("alibi", 2, "additive", 4)->place(self_asking(x, x)).alibi;
  const Tensor expected = torch::tensor({1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256}, kFull);
  EXPECT_LT((slopes - expected).abs().max().item<double>(), 1e-15);
}

struct Placed : testing::TestWithParam<const char*> {
  static Attender attender(const std::string& score = "scaled-dot",
                           const std::string& queries = "multi-head") {
    torch::manual_seed(4);
    MechanismProblem problem{.parts = {.score = score, .queries = queries, .position = GetParam()}};
    if (queries == "multi-head") problem.parts.queries.options["heads"] = std::int64_t{2};
    Attender made(problem, 8, 8);
    made->to(kFull);
    return made;
  }
};

// What order is for: attention without it cannot tell a text from its permutation.
TEST_P(Placed, SeesOrderInOneHeadAndInSeveral) {
  for (const std::string queries : {"multi-head", "singular"}) {
    Attender attention = attender("scaled-dot", queries);
    for (Tensor& parameter : attention->parameters()) parameter.data().normal_(0, 0.5);
    const Tensor x = torch::randn({1, 5, 8}, kFull);
    const Tensor order = torch::tensor({4, 2, 0, 1, 3});
    Trace trace;
    const auto ask = [&](const Tensor& data) {
      return attention->attend(self_asking(data, data), trace["self"]);
    };
    const Tensor plain = ask(x).index_select(1, order), moved = ask(x.index_select(1, order));
    const double change = (plain - moved).abs().max().item<double>();
    if (std::string(GetParam()) == "none") {
      EXPECT_LT(change, 1e-12);
    } else {
      EXPECT_GT(change, 1e-3);
    }
  }
}

TEST_P(Placed, HasTheGradientsOfItsFormula) {
  Attender attention = attender();
  for (Tensor& parameter : attention->parameters()) parameter.data().normal_();
  Trace trace;
  const Tensor x = torch::randn({2, 4, 8}, kFull);
  const auto run = [&](const std::vector<Tensor>& in) {
    Asking asking = self_asking(in[0], in[0]);
    asking.keys.lengths = asking.query.lengths = torch::tensor({4, 2});
    return attention->attend(asking, trace["self"]);
  };
  check_gradients(run, {x}, GetParam());
  check_parameters(*attention, [&] { return run({x}); });
}

TEST_P(Placed, ABatchOfMixedLengthsEqualsEachAlone) {
  Attender attention = attender();
  const Tensor x = torch::randn({2, 5, 8}, kFull);
  Trace trace;
  Asking both = self_asking(x, x);
  both.keys.lengths = torch::tensor({5, 3});
  const Tensor alone = x.narrow(0, 1, 1).narrow(1, 0, 3);
  const Tensor together = attention->attend(both, trace["self"])[1].narrow(0, 0, 3);
  EXPECT_LT((together - attention->attend(self_asking(alone, alone), trace["self"])[0])
                .abs()
                .max()
                .item<double>(),
            1e-12);
}

TEST_P(Placed, LengthsZeroAndOneAreLegal) {
  Attender attention = attender();
  Trace trace;
  for (const std::int64_t n : {0, 1}) {
    const Tensor x = torch::randn({2, n, 8}, kFull);
    const Tensor c = attention->attend(self_asking(x, x), trace["self"]);
    EXPECT_EQ(c.sizes(), x.sizes());
    EXPECT_TRUE(torch::isfinite(c).all().item<bool>());
  }
}

INSTANTIATE_TEST_SUITE_P(Positions, Placed,
                         testing::Values("none", "sinusoidal", "learned", "rope", "alibi",
                                         "relative"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Position, WhatMakesNoSenseIsRefusedWithAReason) {
  const auto make = [](const char* position, const char* score, std::int64_t dim) {
    return Attender(MechanismProblem{.parts = {.score = score, .position = position}}, dim, dim);
  };
  EXPECT_THAT(refusal([&] { make("rope", "additive", 4); }), testing::HasSubstr("not 'additive'"));
  EXPECT_THAT(refusal([&] { make("relative", "general", 4); }),
              testing::HasSubstr("not 'general'"));
  EXPECT_THAT(refusal([&] { make("rope", "dot", 5); }),
              testing::HasSubstr("the width of a head is 5"));
  const Input text{.data = torch::randn({2, 3, 4}), .lengths = {}, .name = "text"};
  for (const char* position : {"rope", "alibi", "relative"}) {
    Attender attention = make(position, "dot", 4);
    Trace trace;
    EXPECT_THAT(refusal([&] {
                  attention->attend(torch::randn({2, 4}), text, trace["a"]);
                }),
                testing::HasSubstr("the query has no place among the keys"));
  }
  for (const char* position : {"sinusoidal", "learned"}) {  // these mark the keys
    Attender attention = make(position, "dot", 4), plain = make("none", "dot", 4);
    Trace trace;
    const Tensor q = torch::randn({2, 4});
    EXPECT_FALSE(torch::allclose(attention->attend(q, text, trace["a"]),
                                 plain->attend(q, text, trace["a"])));
  }
}

}  // namespace
}  // namespace heed
