#include "models/beam_search.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

namespace heed {
namespace {

using Words = std::vector<std::int64_t>;
constexpr std::int64_t kWords = 4, kLimit = 5, kPlaces = 3;  // word 0 is the end

/// A language in which each text's next word depends on all words before, at random.
class RandomLanguage : public Stepper {
 public:
  RandomLanguage(std::int64_t texts, std::int64_t width, std::uint64_t seed)
      : width_(width), seed_(seed), rows_(static_cast<std::size_t>(texts * width)) {}

  Tensor next(std::int64_t text, const Words& before) const {
    return torch::log_softmax(1.5 * numbers(text, before, kWords), 0);
  }
  Tensor looks(std::int64_t text, const Words& before) const {
    return torch::softmax(2 * numbers(text + 100, before, kPlaces), 0);
  }

  Step step(const Tensor& words, bool attention) override {
    std::vector<Tensor> logp, weights;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const auto text = static_cast<std::int64_t>(row) / width_;
      if (started_)
        rows_[row].push_back(words[static_cast<std::int64_t>(row)].item<std::int64_t>());
      logp.push_back(next(text, rows_[row]));
      weights.push_back(looks(text, rows_[row]));
    }
    started_ = true;
    return {torch::stack(logp), attention ? torch::stack(weights) : Tensor()};
  }
  void reorder(const Tensor& index) override {
    const auto before = rows_;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      rows_[row] = before[static_cast<std::size_t>(
          index[static_cast<std::int64_t>(row)].item<std::int64_t>())];
  }

 private:
  Tensor numbers(std::int64_t text, const Words& before, std::int64_t n) const {
    std::uint64_t key = seed_ * 1000 + static_cast<std::uint64_t>(text);
    for (const std::int64_t word : before) key = key * 7 + static_cast<std::uint64_t>(word) + 1;
    auto generator = torch::make_generator<at::CPUGeneratorImpl>(key);
    return torch::randn({n}, generator);
  }

  std::int64_t width_;
  std::uint64_t seed_;
  bool started_ = false;
  std::vector<Words> rows_;
};

/// The best of all sequences of at most kLimit words.
Written by_brute_force(const RandomLanguage& language, std::int64_t text,
                       const BeamOptions& options) {
  Written best{.words = {}, .logp = 0, .score = -1e9};
  std::function<void(Words, double, Tensor)> walk = [&](Words words, double logp, Tensor covered) {
    const Tensor next = language.next(text, words);
    covered = covered + language.looks(text, words);
    const double whole = logp + next[0].item<double>();
    double score =
        whole / std::pow((5.0 + static_cast<double>(words.size())) / 6.0, options.length_penalty);
    if (options.coverage_penalty > 0) {
      for (std::int64_t i = 0; i < kPlaces; ++i)
        score += options.coverage_penalty * std::log(std::min(covered[i].item<double>(), 1.0));
    }
    if (score > best.score) best = {words, whole, score};
    if (static_cast<std::int64_t>(words.size()) == kLimit) return;
    for (std::int64_t word = 1; word < kWords; ++word) {
      words.push_back(word);
      walk(words, logp + next[word].item<double>(), covered);
      words.pop_back();
    }
  };
  walk({}, 0, torch::zeros({kPlaces}));
  return best;
}

TEST(BeamSearch, WideEnoughItFindsTheBestOfAllSequences) {
  const std::int64_t width = 243;  // 3⁵ open sequences at most
  for (const auto& [alpha, beta] : {std::pair{0.0, 0.0}, {1.0, 0.0}, {0.6, 0.5}}) {
    const BeamOptions options{.width = width, .length_penalty = alpha, .coverage_penalty = beta};
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      RandomLanguage language(2, width, seed);
      const auto found = beam_search(language, {kLimit, kLimit}, options);
      for (std::int64_t text = 0; text < 2; ++text) {
        const Written best = by_brute_force(language, text, options);
        const Written& ours = found[static_cast<std::size_t>(text)];
        EXPECT_EQ(ours.words, best.words) << "α " << alpha << " β " << beta << " seed " << seed;
        EXPECT_NEAR(ours.logp, best.logp, 1e-4);
        EXPECT_NEAR(ours.score, best.score, 1e-4);
      }
    }
  }
}

TEST(BeamSearch, OfOneIsGreedyAndKeepsWithinEachTextsLimit) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomLanguage language(3, 1, seed);
    const std::vector<std::int64_t> limits = {5, 0, 3};
    const auto found = beam_search(language, limits, {.width = 1});
    for (std::int64_t text = 0; text < 3; ++text) {
      Words greedy;
      while (static_cast<std::int64_t>(greedy.size()) < limits[static_cast<std::size_t>(text)]) {
        const auto word = language.next(text, greedy).argmax().item<std::int64_t>();
        if (word == 0) break;
        greedy.push_back(word);
      }
      EXPECT_EQ(found[static_cast<std::size_t>(text)].words, greedy) << "seed " << seed;
    }
  }
}

TEST(BeamSearch, AWiderOneFindsMoreProbableSequences) {
  int better = 0, worse = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    RandomLanguage narrow(1, 1, seed), wide(1, 8, seed);
    const double one = beam_search(narrow, {kLimit}, {.width = 1})[0].logp;
    const double eight = beam_search(wide, {kLimit}, {.width = 8})[0].logp;
    better += eight > one + 1e-6;
    worse += eight < one - 1e-6;
  }
  EXPECT_GT(better, 3);
  EXPECT_EQ(worse, 0);
}

TEST(BeamSearch, NeverWritesWhatIsNoAnswer) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    RandomLanguage language(1, 4, seed);
    const auto found = beam_search(language, {kLimit}, {.width = 4, .never = {2}});
    for (const std::int64_t word : found[0].words) EXPECT_NE(word, 2);
  }
}

/// After three bad words one may end or go on; after the good one the rest is certain.
class OneGoodWay : public Stepper {
 public:
  Step step(const Tensor& words, bool) override {
    Tensor logp = torch::full({words.size(0), kWords}, -20.0);
    for (std::int64_t row = 0; row < words.size(0); ++row) {
      const bool good = time_ == 0 || words[row].item<std::int64_t>() == 1;
      logp[row][good ? (time_ < 4 ? 1 : 0) : 0] = -0.01;
    }
    ++time_;
    return {logp, {}};
  }
  void reorder(const Tensor&) override {}

 private:
  int time_ = 0;
};

TEST(BeamSearch, BadSequencesThatEndedDoNotStopAGoodOne) {
  OneGoodWay stepper;
  const Written found = beam_search(stepper, {8}, {.width = 3, .length_penalty = 0.6})[0];
  EXPECT_EQ(found.words, (Words{1, 1, 1, 1}));
}

TEST(Penalties, ByHand) {
  EXPECT_DOUBLE_EQ(length_penalty(1, 0.7), 1);
  EXPECT_DOUBLE_EQ(length_penalty(7, 1), 2);
  EXPECT_DOUBLE_EQ(length_penalty(19, 0.5), 2);
  EXPECT_NEAR(coverage_penalty(torch::tensor({0.5, 2.0, 1.0}), 0.2), 0.2 * std::log(0.5), 1e-6);
  // A place with no weight at all is padding, or would forbid every answer.
  EXPECT_NEAR(coverage_penalty(torch::tensor({0.25, 0.0}), 1), std::log(0.25), 1e-6);
}

}  // namespace
}  // namespace heed
