// One suite walks the registry: what is promised of every mechanism, with every way to ask and
// with every score and alignment.
#include <gtest/gtest.h>

#include "attention/gradcheck.hpp"
#include "heed/attention/align.hpp"
#include "heed/base/error.hpp"
#include "mechanisms/walked.hpp"

namespace heed {
namespace {

struct Case {
  PartInfo info;
  AttentionSpec parts = {};
  std::string label;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.info.id << " " << c.label; }

std::vector<std::pair<std::string, PartSpec>> ways_to_ask() {
  return {
      {"singular", "singular"},
      {"heads", {"multi-head", {{"heads", std::int64_t{2}}}}},
      {"shared_keys", {"multi-head", {{"heads", std::int64_t{2}}, {"projections", false}}}},
      {"hops", {"multi-hop", {{"update", "linear"}, {"new_keys", true}}}},
      {"gru_hops", {"multi-hop", {{"update", "gru"}}}},
      {"capsule", "capsule"},
      {"routed", {"capsule", {{"routing", std::int64_t{2}}}}},
  };
}

// Nothing for a combination that makes no sense, and the reason in `why`.
std::shared_ptr<Mechanism> try_make(const PartInfo& info, const AttentionSpec& parts,
                                    std::string* why = nullptr) {
  try {
    return make_walked(info, parts);
  } catch (const InputError& refused) {
    if (why) *why = refused.what();
    return nullptr;
  }
}

Tensor run(Mechanism& mechanism, const Walked& walked) {
  Trace quiet;
  return mechanism.forward(walked.given(), quiet);
}

double difference(const Tensor& a, const Tensor& b) {
  return a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

// What holds for every combination, checked quickly.
void check_combination(const PartInfo& info, Mechanism& mechanism, const std::string& what) {
  mechanism.eval();
  Walked walked(info, {6, 4});
  const Tensor together = run(mechanism, walked);
  ASSERT_EQ(together.sizes().vec(), (std::vector<std::int64_t>{2, mechanism.output_dim()})) << what;
  for (std::int64_t b = 0; b < 2; ++b) {
    EXPECT_LT(difference(together[b], run(mechanism, walked.alone(b))[0]), 1e-6)
        << what << ": entry " << b << " differs alone";
  }
  Walked bad = walked.poisoned();
  std::vector<Tensor> leaves = bad.leaves();
  for (const Tensor& parameter : mechanism.parameters()) leaves.push_back(parameter);
  const Tensor out = run(mechanism, bad);
  EXPECT_LT(difference(out, together), 1e-9) << what << ": padding reached the output";
  if (!out.requires_grad()) return;
  const auto gradients = torch::autograd::grad({out.square().sum()}, leaves, {}, {}, false, true);
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    EXPECT_TRUE(torch::isfinite(gradient).all().item<bool>())
        << what << ": padding reached a gradient";
  }
}

// All but those whose weights are gates or marginals of their own.
bool sums_to_one(const PartInfo& info) {
  return info.id != "saliency.gate" && !info.id.starts_with("structured.");
}

class EveryMechanism : public testing::TestWithParam<Case> {
 protected:
  // One thread: the tensors are too small to share.
  static void SetUpTestSuite() { torch::set_num_threads(1); }
  void SetUp() override { mechanism = make_walked(GetParam().info, GetParam().parts); }
  const PartInfo& info() const { return GetParam().info; }

  std::shared_ptr<Mechanism> mechanism;
};

TEST_P(EveryMechanism, HasTheGradientsOfItsFormula) {
  Walked walked(info(), {3, 2});
  std::vector<Tensor> leaves = walked.leaves();
  for (const Tensor& parameter : mechanism->parameters()) leaves.push_back(parameter);
  check_leaf_gradients(
      [&] {
        Trace trace;
        std::vector<Tensor> all = {mechanism->forward(walked.given(), trace).flatten()};
        for (const LossTerm& term : trace.losses())
          all.push_back(term.value(torch::tensor({0, 2})).view({1}));
        return torch::cat(all);
      },
      leaves, info().id, GetParam().label == "singular" ? INT64_MAX : 5);
}

TEST_P(EveryMechanism, EqualsEachEntryAloneAndPaddingNeverReachesIt) {
  check_combination(info(), *mechanism, info().id);
}

TEST_P(EveryMechanism, LengthsZeroAndOneAreLegal) {
  mechanism->eval();
  for (const auto& lengths :
       std::vector<std::vector<std::int64_t>>{{6, 0}, {1, 1}, {1, 0}, {0, 0}}) {
    const Walked walked(info(), lengths);
    const Tensor out = run(*mechanism, walked);
    ASSERT_EQ(out.sizes().vec(), (std::vector<std::int64_t>{2, mechanism->output_dim()}));
    EXPECT_TRUE(torch::isfinite(out).all().item<bool>());
    EXPECT_LT(difference(run(*mechanism, walked.poisoned()), out), 1e-9);
    for (std::int64_t b = 0; b < 2; ++b)
      EXPECT_LT(difference(out[b], run(*mechanism, walked.alone(b))[0]), 1e-6);
  }
}

TEST_P(EveryMechanism, RecordedWeightsSumToOneAndAreZeroOutside) {
  mechanism->eval();
  const Walked walked(info(), {6, 4});
  Trace trace = Trace::recording();
  EXPECT_TRUE(torch::equal(mechanism->forward(walked.given(), trace), run(*mechanism, walked)));
  // The delta rules of linear attention erase: no weights say what they gave.
  EXPECT_TRUE(!trace.maps().empty() || info().id == "no-attention" || info().id == "linear");
  std::set<std::string> names;
  for (const TraceMap& map : trace.maps()) {
    EXPECT_TRUE(names.insert(map.name).second) << "two maps are called " << map.name;
    ASSERT_EQ(map.weights.size(0), 2) << map.name;
    ASSERT_EQ(map.weights.dim(), 1 + static_cast<std::int64_t>(map.axes.size())) << map.name;
    for (std::int64_t b = 0; b < 2; ++b) {
      if (info().id == "pointer") continue;  // its last key is the end: pointer_test.cpp
      const Tensor kept = map.entry(b);
      const std::int64_t keys = kept.size(-1);
      const Tensor outside = map.weights[b].narrow(-1, keys, map.weights.size(-1) - keys);
      EXPECT_EQ(outside.abs().sum().item<double>(), 0) << map.name << ": weight on padding";
      if (!sums_to_one(info())) continue;
      EXPECT_LT(difference(kept.sum(-1), torch::ones_like(kept.sum(-1))), 1e-12) << map.name;
    }
  }
}

TEST_P(EveryMechanism, GivenItsOwnWeightsItAnswersTheSameAndGradientsReachThem) {
  mechanism->eval();
  const Walked walked(info(), {6, 4});
  Trace first = Trace::recording();
  const Tensor out = mechanism->forward(walked.given(), first);
  Trace all;
  for (const TraceMap& map : first.maps()) {
    const Tensor weights = map.features.defined() ? map.features : map.weights;
    all.replace(map.name, weights);
    Trace one;
    const Tensor leaf = weights.clone().set_requires_grad(true);
    one.replace(map.name, leaf);
    const Tensor same = mechanism->forward(walked.given(), one);
    one.check_replacements_used();
    EXPECT_LT(difference(same, out), 1e-12) << map.name;
    const Tensor gradient = torch::autograd::grad({same.square().sum()}, {leaf})[0];
    EXPECT_GT(gradient.abs().sum().item<double>(), 0) << map.name;
    Trace other;
    other.replace(map.name, weights.flip(weights.dim() - (map.features.defined() ? 2 : 1)));
    EXPECT_GT(difference(mechanism->forward(walked.given(), other), out), 1e-9) << map.name;
  }
  EXPECT_LT(difference(mechanism->forward(walked.given(), all), out), 1e-12);
}

TEST_P(EveryMechanism, DescribesTheModulesItRuns) {
  mechanism->eval();
  Trace trace = Trace::recording();
  mechanism->forward(Walked(info(), {6, 4}).given(), trace);
  const std::vector<WiringStep> steps = mechanism->wiring();
  ASSERT_FALSE(steps.empty()) << "it does not describe itself";
  EXPECT_TRUE(steps.back().name.empty());
  for (const TraceMap& map : trace.maps()) {
    if (map.name == "routing") continue;
    const bool known = std::any_of(steps.begin(), steps.end(), [&](const WiringStep& step) {
      return !step.name.empty() && (map.name == step.name || map.name.starts_with(step.name + "/"));
    });
    EXPECT_TRUE(known) << map.name << " is in no step";
  }
}

// Every way to ask, and every option of the mechanism at another value than its own.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const PartInfo& info : walked_mechanisms()) {
    const auto add = [&](const std::string& label, const AttentionSpec& parts) {
      if (try_make(info, parts)) cases.push_back({.info = info, .parts = parts, .label = label});
    };
    for (const auto& [label, queries] : ways_to_ask()) add(label, {.queries = queries});
    add("features", {.dimensionality = "multi"});
    for (const OptionInfo& option : info.options) {
      if (const auto* number = std::get_if<std::int64_t>(&option.fallback))
        add("option_" + option.name, {.mechanism = {info.id, {{option.name, *number + 1}}}});
      if (const auto* truth = std::get_if<bool>(&option.fallback))
        add("option_" + option.name, {.mechanism = {info.id, {{option.name, !*truth}}}});
      for (const std::string& choice : option.choices) {
        const bool pooled = option.name != "pool" || choice != "none";  // else it is [B, N, D]
        if (OptionValue(choice) != option.fallback && pooled)
          add(option.name + "_" + choice, {.mechanism = {info.id, {{option.name, choice}}}});
      }
    }
  }
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.info.id + "_" + info.param.label;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryMechanism, testing::ValuesIn(all_cases()), case_name);

// Without positions or an encoder, attention sees a set.
TEST(Order, MattersToTheLastVectorAndToNoWiring) {
  for (const std::string id :
       {"singular", "co.alternating", "co.interactive", "co.parallel", "rotatory", "via-attention",
        "meta-embedding", "focus", "saliency.max-pool", "saliency.gate", "saliency.winner-take-all",
        "mean-pool", "no-attention"}) {
    const PartInfo& info = mechanism_parts().find(Group::mechanism, id);
    const auto mechanism = make_walked(info, {});
    const Walked walked(info, {5, 5});
    Walked turned = walked;
    for (Input& x : turned.inputs) x.data = x.data.flip(1);
    EXPECT_EQ(difference(run(*mechanism, walked), run(*mechanism, turned)) < 1e-12,
              id != "no-attention")
        << id;
  }
}

// Every score, every alignment and both dimensionalities in every wiring; a combination that makes
// no sense is refused in words, never by a crash.
TEST(Combinations, EveryScoreAlignmentAndDimensionalityInEveryMechanism) {
  for (const PartInfo& info : walked_mechanisms()) {
    int made = 0, refused = 0;
    const auto check = [&](const AttentionSpec& parts) {
      const std::string what = fmt::format("{}, {}, {}, {}", info.id, parts.score.id,
                                           parts.align.id, parts.dimensionality.id);
      std::string why;
      const auto mechanism = try_make(info, parts, &why);
      if (mechanism) check_combination(info, *mechanism, what);
      EXPECT_TRUE(mechanism || why.size() > 20) << what << ": " << why;
      (mechanism ? made : refused) += 1;
    };
    for (const PartInfo& part : attention_parts().parts()) {
      if (part.status != Status::built) continue;
      if (part.group == Group::score) check({.score = {part.id}});
      if (part.group == Group::align) check({.align = {part.id}});
      if (part.group == Group::dimensionality) check({.dimensionality = {part.id}});
    }
    EXPECT_GE(made, 8) << info.id;
    // Marginals, products of features and probabilities of places take no alignment.
    const bool own =
        info.id.starts_with("structured.") || info.id == "linear" || info.id == "pointer";
    EXPECT_LE(refused, own ? 12 : 6) << info.id;
  }
}

}  // namespace
}  // namespace heed
