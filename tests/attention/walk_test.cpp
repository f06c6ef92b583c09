// One suite walks the registry: what is promised of every score and every alignment.
#include <gtest/gtest.h>

#include <cmath>

#include "attention/gradcheck.hpp"
#include "heed/attention/align.hpp"
#include "heed/attention/attend.hpp"
#include "heed/attention/attention.hpp"
#include "heed/attention/registry.hpp"

namespace heed {
namespace {

constexpr auto kDouble = torch::kFloat64;

struct Pair {
  std::string score, align;
  Kernel kernel = Kernel::reference;
};

std::vector<Pair> all_pairs() {
  std::vector<Pair> pairs;
  for (const PartInfo& score : attention_parts().parts()) {
    if (score.group != Group::score || score.status != Status::built) continue;
    for (const PartInfo& align : attention_parts().parts()) {
      if (align.group == Group::align && align.status == Status::built) {
        pairs.push_back({score.id, align.id});
        if (!score.fused.empty() && !align.fused.empty())
          pairs.push_back({score.id, align.id, Kernel::fused});
      }
    }
  }
  return pairs;
}

/// Random parameters of a score and an alignment, in float64.
Params random_params(const Pair& pair, const Problem& problem) {
  Params params;
  PartSpec score = pair.score;
  if (score.id == "location") score.options["max_keys"] = std::int64_t{8};
  for (const SizedParam& param : parameters_of(score, pair.align, problem)) {
    params[param.info.name] = torch::randn(param.shape, kDouble);
  }
  return params;
}

Problem problem_for(const std::string& score) {
  Problem wide{.query_dim = 5, .key_dim = 4, .value_dim = 3};
  const PartInfo& info = attention_parts().find(Group::score, score);
  if (info.unsupported && !info.unsupported(wide).empty()) wide.query_dim = wide.key_dim;
  return wide;
}

class EveryPair : public testing::TestWithParam<Pair> {
 protected:
  void SetUp() override {
    torch::manual_seed(7);
    problem = problem_for(GetParam().score);
    q = torch::randn({2, 2, 3, problem.query_dim}, kDouble);
    k = torch::randn({2, 2, 6, problem.key_dim}, kDouble);
    v = torch::randn({2, 2, 6, problem.value_dim}, kDouble);
    options = {.score = GetParam().score,
               .align = GetParam().align,
               .params = random_params(GetParam(), problem),
               .kernel = GetParam().kernel};
    options.lengths = torch::tensor({6, 4});
    // What a sample is depends on its place in the batch; the best key does not.
    if (align()->draws()) options.align.options["mode"] = std::string("argmax");
  }

  std::unique_ptr<Align> align() const {
    const PartInfo& info = attention_parts().find(Group::align, GetParam().align);
    return std::get<MakeAlign>(info.make)(resolve(info, {}, "test"));
  }

  Problem problem;
  Tensor q, k, v;
  AttendOptions options;
};

TEST_P(EveryPair, HasTheGradientsOfItsFormula) {
  std::vector<Tensor> inputs = {q, k, v};
  std::vector<std::string> names;
  for (const auto& [name, tensor] : options.params) {
    names.push_back(name);
    inputs.push_back(tensor);
  }
  options.softcap = 20;
  if (GetParam().align == "hard") {  // the scores only choose: gradients reach the values alone
    check_gradients(
        [&](const std::vector<Tensor>& x) { return attend(q, k, x[0], options).output; }, {v},
        GetParam().score + " × hard");
    return;
  }
  const auto run = [&](const std::vector<Tensor>& x) {
    AttendOptions with = options;
    for (std::size_t i = 0; i < names.size(); ++i) with.params[names[i]] = x[3 + i];
    return attend(x[0], x[1], x[2], with).output;
  };
  check_gradients(run, inputs, GetParam().score + " × " + GetParam().align);
}

TEST_P(EveryPair, WeightsSumToOneAndMaskedKeysAreExactlyZero) {
  options.want.weights = true;
  options.causal = Causal::bottom_right();
  const Tensor weights = attend(q, k, v, options).weights;
  EXPECT_EQ(weights[1].narrow(-1, 4, 2).abs().max().item<double>(), 0);       // past the length
  EXPECT_EQ(weights[0][0][0].narrow(0, 4, 2).abs().max().item<double>(), 0);  // in the future
  if (align()->sums_to_one()) {
    EXPECT_LT((weights.sum(-1) - 1).abs().max().item<double>(), 1e-12);
  }
}

TEST_P(EveryPair, ABatchOfMixedLengthsEqualsEachAlone) {
  const Tensor together = attend(q, k, v, options).output;
  AttendOptions alone = options;
  alone.lengths = Tensor();
  const Tensor second = attend(q.narrow(0, 1, 1), k.narrow(0, 1, 1).narrow(2, 0, 4),
                               v.narrow(0, 1, 1).narrow(2, 0, 4), alone)
                            .output;
  EXPECT_LT((together.narrow(0, 1, 1) - second).abs().max().item<double>(), 1e-12);
}

TEST_P(EveryPair, LengthsZeroAndOneAreLegal) {
  const Tensor none = attend(q, k.narrow(2, 0, 0), v.narrow(2, 0, 0),
                             {.score = GetParam().score,
                              .align = options.align,
                              .params = options.params,
                              .kernel = GetParam().kernel})
                          .output;
  EXPECT_EQ(none.abs().sum().item<double>(), 0);
  const Tensor no_query = attend(q.narrow(2, 0, 0), k, v,
                                 {.score = GetParam().score,
                                  .align = options.align,
                                  .params = options.params,
                                  .kernel = GetParam().kernel})
                              .output;
  EXPECT_EQ(no_query.size(2), 0);
  options.lengths = torch::tensor({1, 0});
  const Tensor one = attend(q, k, v, options).output;
  EXPECT_EQ(one[1].abs().sum().item<double>(), 0);
  EXPECT_TRUE(torch::isfinite(one).all().item<bool>());
}

TEST_P(EveryPair, WantingMoreNeverChangesTheOutput) {
  const Tensor plain = attend(q, k, v, options).output;
  options.want = {.weights = true,
                  .scores = true,
                  .lse = align()->has_lse(),
                  .logp = align()->has_logp(),
                  .entropy = true,
                  .received = true,
                  .topk = 2,
                  .rows = {1}};
  EXPECT_TRUE(torch::equal(attend(q, k, v, options).output, plain));
}

TEST_P(EveryPair, ParametersOfEachHeadEqualHeadsAlone) {
  AttendOptions each = options;
  for (auto& [name, tensor] : each.params) tensor = torch::stack({tensor, 2 * tensor});
  const Tensor both = attend(q, k, v, each).output;
  for (std::int64_t h = 0; h < 2; ++h) {
    AttendOptions one = options;
    for (auto& [name, tensor] : one.params) tensor = each.params[name][h];
    const Tensor alone =
        attend(q.narrow(1, h, 1), k.narrow(1, h, 1), v.narrow(1, h, 1), one).output;
    EXPECT_LT((both.narrow(1, h, 1) - alone).abs().max().item<double>(), 1e-12);
  }
}

std::string case_name(const testing::TestParamInfo<Pair>& info) {
  std::string name = info.param.score + "_" + info.param.align +
                     (info.param.kernel == Kernel::fused ? "_fused" : "");
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryPair, testing::ValuesIn(all_pairs()), case_name);

// Forward against double loops that share no code with ours.
using Vector = std::vector<double>;

Vector row(const Tensor& x) {
  return {x.contiguous().data_ptr<double>(), x.contiguous().data_ptr<double>() + x.numel()};
}

double product(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// matrix · x, row by row.
Vector times(const Tensor& matrix, const Vector& x) {
  Vector result;
  for (std::int64_t i = 0; i < matrix.size(0); ++i) result.push_back(product(row(matrix[i]), x));
  return result;
}

double plain_score(const PartSpec& score, const Vector& q, const Vector& k, std::int64_t l,
                   const Params& params) {
  const std::string& id = score.id;
  if (id == "dot") return product(q, k);
  if (id == "scaled-dot") return product(q, k) / std::sqrt(static_cast<double>(k.size()));
  if (id == "general") return product(k, times(params.at("W"), q));
  if (id == "biased-general") {
    return product(k, times(params.at("W"), q)) + product(k, row(params.at("b")));
  }
  if (id == "activated-general") {
    return std::tanh(product(k, times(params.at("W"), q)) + params.at("b").item<double>());
  }
  if (id == "low-rank-bilinear") return product(times(params.at("U"), k), times(params.at("V"), q));
  if (id == "location") return product(row(params.at("W")[l]), q);
  double sum = 0;
  if (id == "similarity" && score.options.empty()) {
    return product(q, k) / std::sqrt(product(q, q)) / std::sqrt(product(k, k));
  }
  if (id == "similarity") {  // gaussian, σ = 1.5
    for (std::size_t i = 0; i < q.size(); ++i) sum += (q[i] - k[i]) * (q[i] - k[i]);
    return -sum / (2 * 1.5 * 1.5);
  }
  const Vector w = row(params.at("w")), b = row(params.at("b"));
  for (std::size_t i = 0; i < w.size(); ++i) {
    const auto r = static_cast<std::int64_t>(i);
    sum += w[i] * std::tanh(product(row(params.at("W1")[r]), q) +
                            product(row(params.at("W2")[r]), k) + b[i]);
  }
  return sum;
}

TEST(Scores, EqualPlainLoops) {
  const PartSpec gaussian{"similarity", {{"kind", std::string("gaussian")}, {"sigma", 1.5}}};
  const PartSpec scores[] = {"dot",
                             "scaled-dot",
                             "general",
                             "biased-general",
                             "activated-general",
                             "low-rank-bilinear",
                             "additive",
                             "similarity",
                             gaussian,
                             "location"};
  for (const PartSpec& score : scores) {
    const std::string& id = score.id;
    torch::manual_seed(3);
    const Problem problem = problem_for(id);
    const Tensor q = torch::randn({1, 1, 3, problem.query_dim}, kDouble),
                 k = torch::randn({1, 1, 5, problem.key_dim}, kDouble);
    AttendOptions options{.score = score, .params = random_params({id, "soft"}, problem)};
    options.want.scores = options.want.weights = true;
    const AttendResult result = attend(q, k, k, options);
    for (std::int64_t i = 0; i < 3; ++i) {
      double total = 0;
      for (std::int64_t j = 0; j < 5; ++j)
        total += std::exp(plain_score(score, row(q[0][0][i]), row(k[0][0][j]), j, options.params));
      for (std::int64_t j = 0; j < 5; ++j) {
        const double expected =
            plain_score(score, row(q[0][0][i]), row(k[0][0][j]), j, options.params);
        EXPECT_NEAR(result.scores[0][0][i][j].item<double>(), expected, 1e-12) << id;
        EXPECT_NEAR(result.weights[0][0][i][j].item<double>(), std::exp(expected) / total, 1e-12)
            << id;
      }
    }
  }
}

}  // namespace
}  // namespace heed
