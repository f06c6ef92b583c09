#include "heed/data/reviews.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "heed/base/words.hpp"

namespace heed {
namespace {

const std::set<std::string> kNegators = {"not", "never", "hardly", "scarcely"};

const Dataset& corpus() {
  static const Dataset data = reviews();
  return data;
}

std::vector<const Example*> all_examples(const Dataset& data) {
  std::vector<const Example*> all;
  for (const auto* part : {&data.train, &data.val, &data.test}) {
    for (const Example& example : *part) all.push_back(&example);
  }
  return all;
}

const std::vector<std::string>& tokens(const Example& example) { return example.inputs.at("text"); }

// FNV-1a over all that a model sees.
std::uint64_t fingerprint(const Dataset& data) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  };
  for (const Example* example : all_examples(data)) {
    add(example->id + "\t" + example->label + "\t" + join(tokens(*example), " "));
    for (const float weight : example->gold.at("text")) add(weight == 1.0f ? "1" : "0");
  }
  return hash;
}

TEST(Reviews, IsTheSameCorpusOnEveryMachine) {
  // A change of words or patterns changes it, and with it every published figure of the demo.
  EXPECT_EQ(fingerprint(corpus()), 13332563010415593398u);
}

TEST(Reviews, TheSeedDecidesAndTestDoesNotDependOnTheSizeOfTrain) {
  EXPECT_EQ(fingerprint(reviews({.train = 50, .val = 10, .test = 10, .seed = 4})),
            fingerprint(reviews({.train = 50, .val = 10, .test = 10, .seed = 4})));
  EXPECT_NE(fingerprint(reviews({.train = 50, .val = 10, .test = 10, .seed = 4})),
            fingerprint(reviews({.train = 50, .val = 10, .test = 10, .seed = 5})));
  const Dataset small = reviews({.train = 50, .val = 10, .test = 1000});
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(tokens(small.test[i]), tokens(corpus().test[i]));
}

TEST(Reviews, HasTheSizesAndBalancedLabelsInEachPart) {
  EXPECT_EQ(corpus().labels, (std::vector<std::string>{"negative", "positive"}));
  const std::pair<const std::vector<Example>*, std::size_t> parts[] = {
      {&corpus().train, 4000}, {&corpus().val, 500}, {&corpus().test, 1000}};
  for (const auto& [part, size] : parts) {
    EXPECT_EQ(part->size(), size);
    const auto positive = std::ranges::count(*part, "positive", &Example::label);
    EXPECT_EQ(static_cast<std::size_t>(positive) * 2, size);
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(*part, "negative", &Example::label)) * 2,
              size);
  }
}

TEST(Reviews, NoSentenceOccursTwice) {
  std::set<std::string> seen, ids;
  for (const Example* example : all_examples(corpus())) {
    EXPECT_TRUE(seen.insert(join(tokens(*example), " ")).second) << join(tokens(*example), " ");
    EXPECT_TRUE(ids.insert(example->id).second) << example->id;
  }
}

TEST(Reviews, SentencesAreFiveToFortyTokensOfSeveralHundredWords) {
  std::set<std::string> words;
  std::map<std::size_t, std::size_t> lengths;
  for (const Example* example : all_examples(corpus())) {
    ++lengths[tokens(*example).size()];
    words.insert(tokens(*example).begin(), tokens(*example).end());
  }
  EXPECT_EQ(lengths.begin()->first, 5u);
  EXPECT_EQ(lengths.rbegin()->first, 40u);
  EXPECT_GE(lengths.size(), 30u);
  EXPECT_GE(words.size(), 400u);
  for (const std::string& word : words)
    EXPECT_EQ(word.find_first_of("{}"), word.npos) << "an unfilled slot";
}

TEST(Reviews, TheRationaleIsAFewWordsAndDecidesTheLabel) {
  // Polarity of a word as seen where it decides, turned by a negator that decides with it.
  std::map<std::string, std::set<bool>> polarity;
  double share = 0;
  std::size_t negated_sentences = 0;
  for (const Example* example : all_examples(corpus())) {
    const auto& gold = example->gold.at("text");
    ASSERT_EQ(gold.size(), tokens(*example).size());
    std::vector<std::string> deciding;
    for (std::size_t i = 0; i < gold.size(); ++i) {
      ASSERT_TRUE(gold[i] == 0.0f || gold[i] == 1.0f);
      if (gold[i] == 1.0f) deciding.push_back(tokens(*example)[i]);
    }
    const bool negated =
        std::ranges::any_of(deciding, [](const auto& w) { return kNegators.contains(w); });
    negated_sentences += negated;
    std::size_t sentiment = 0;
    for (const std::string& word : deciding) {
      if (kNegators.contains(word)) continue;
      ++sentiment;
      polarity[word].insert((example->label == "positive") != negated);
    }
    EXPECT_GE(sentiment, 1u) << example->id;
    EXPECT_LE(deciding.size(), 2u) << example->id;
    share += static_cast<double>(deciding.size()) / static_cast<double>(gold.size());
  }
  for (const auto& [word, seen] : polarity)
    EXPECT_EQ(seen.size(), 1u) << word << " decides both ways";
  EXPECT_GE(polarity.size(), 80u);
  const auto count = static_cast<double>(all_examples(corpus()).size());
  EXPECT_LE(share / count, 0.15);
  EXPECT_NEAR(static_cast<double>(negated_sentences) / count, 0.22, 0.04);
}

TEST(Reviews, NegatorsConnectivesAndFillerTellNothing) {
  std::map<std::string, std::array<double, 2>> counts;
  std::set<std::string> deciding;
  for (const Example* example : all_examples(corpus())) {
    const std::set<std::string> words(tokens(*example).begin(), tokens(*example).end());
    for (const auto& word : words) ++counts[word][example->label == "positive"];
    for (std::size_t i = 0; i < tokens(*example).size(); ++i) {
      const std::string& word = tokens(*example)[i];
      if (example->gold.at("text")[i] == 1.0f && !kNegators.contains(word)) deciding.insert(word);
    }
  }
  for (const auto& [word, n] : counts) {
    if (deciding.contains(word)) continue;
    // Four and a half standard deviations of a fair coin: about 350 words, so none should pass.
    EXPECT_LE(std::abs(n[0] - n[1]), 4.5 * std::sqrt(n[0] + n[1]) + 1)
        << word << " tells the label";
  }
  for (const char* connective : {"but", "although", "however", "yet", "while"}) {
    EXPECT_GE(counts[connective][0], 50) << connective;
  }
}

// What the clause that a connective outvotes says, by the polarity of its sentiment word; negators
// stand before it. None when the sentence has no such connective.
std::optional<bool> outvoted(const std::vector<std::string>& words,
                             const std::map<std::string, bool>& polarity) {
  static const std::set<std::string> kEnds = {".", ";", ",", "!", "and"};
  const auto before =
      std::ranges::find_if(words, [](const auto& w) { return w == "but" || w == "yet"; });
  const auto after = std::ranges::find_if(
      words, [](const auto& w) { return w == "although" || w == "though" || w == "while"; });
  bool turned = false;
  if (after != words.end()) {
    for (auto word = after; word != words.end(); ++word) {
      turned = turned || kNegators.contains(*word);
      if (polarity.contains(*word)) return polarity.at(*word) != turned;
    }
  }
  if (before == words.end()) return std::nullopt;
  auto word = before;
  while (word != words.begin() && !polarity.contains(*word)) --word;
  const bool said = polarity.at(*word);
  for (; word != words.begin() && !kEnds.contains(*word); --word) {
    turned = turned || kNegators.contains(*word);
  }
  return said != (turned || kNegators.contains(*word));
}

TEST(Reviews, TheClauseThatAConnectiveOutvotesSaysTheOpposite) {
  std::map<std::string, bool> polarity;
  for (const Example* example : all_examples(corpus())) {
    std::vector<std::string> deciding;
    for (std::size_t i = 0; i < tokens(*example).size(); ++i) {
      if (example->gold.at("text")[i] == 1.0f) deciding.push_back(tokens(*example)[i]);
    }
    if (!kNegators.contains(deciding[0])) polarity[deciding[0]] = example->label == "positive";
  }
  std::size_t found = 0;
  for (const Example* example : all_examples(corpus())) {
    const auto opposite = outvoted(tokens(*example), polarity);
    if (!opposite) continue;
    ++found;
    EXPECT_NE(*opposite, example->label == "positive") << join(tokens(*example), " ");
  }
  EXPECT_GT(found, 500u);
}

// Naive Bayes on the words of a sentence, as good as a bag of words gets here.
double bag_of_words_accuracy(const Dataset& data) {
  std::map<std::string, std::array<double, 2>> counts;
  for (const Example& example : data.train) {
    const std::set<std::string> words(tokens(example).begin(), tokens(example).end());
    for (const auto& word : words) ++counts[word][example.label == "positive"];
  }
  std::size_t right = 0;
  for (const Example& example : data.test) {
    double score = 0;
    for (const auto& word : std::set<std::string>(tokens(example).begin(), tokens(example).end())) {
      score += std::log((counts[word][1] + 1) / (counts[word][0] + 1));
    }
    right += (score > 0) == (example.label == "positive");
  }
  return static_cast<double>(right) / static_cast<double>(data.test.size());
}

TEST(Reviews, ABagOfWordsDoesNotSuffice) {
  const double accuracy = bag_of_words_accuracy(corpus());
  EXPECT_LT(accuracy, 0.72);
  EXPECT_GT(accuracy, 0.55);  // below, there would be nothing easy to learn first
}

}  // namespace
}  // namespace heed
