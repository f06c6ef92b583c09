#include "heed/metrics/meteor.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <tuple>

#include "heed/base/error.hpp"
#include "heed/base/random.hpp"
#include "heed/base/words.hpp"
#include "heed/metrics/stem.hpp"
#include "metrics/meteor_match.hpp"

namespace heed::metrics {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

TEST(PorterStem, GivesThePapersExamples) {
  const std::vector<std::pair<const char*, const char*>> examples = {{"caresses", "caress"},
                                                                     {"ponies", "poni"},
                                                                     {"cats", "cat"},
                                                                     {"feed", "feed"},
                                                                     {"agreed", "agre"},
                                                                     {"plastered", "plaster"},
                                                                     {"bled", "bled"},
                                                                     {"motoring", "motor"},
                                                                     {"sing", "sing"},
                                                                     {"conflated", "conflat"},
                                                                     {"sized", "size"},
                                                                     {"hopping", "hop"},
                                                                     {"falling", "fall"},
                                                                     {"hissing", "hiss"},
                                                                     {"filing", "file"},
                                                                     {"happy", "happi"},
                                                                     {"sky", "sky"},
                                                                     {"relational", "relat"},
                                                                     {"rational", "ration"},
                                                                     {"digitizer", "digit"},
                                                                     {"vietnamization", "vietnam"},
                                                                     {"hopefulness", "hope"},
                                                                     {"sensibiliti", "sensibl"},
                                                                     {"triplicate", "triplic"},
                                                                     {"electrical", "electr"},
                                                                     {"goodness", "good"},
                                                                     {"adjustment", "adjust"},
                                                                     {"adoption", "adopt"},
                                                                     {"probate", "probat"},
                                                                     {"rate", "rate"},
                                                                     {"cease", "ceas"},
                                                                     {"controll", "control"},
                                                                     {"roll", "roll"},
                                                                     {"as", "a"},
                                                                     {"s", ""},
                                                                     {"", ""}};
  for (const auto& [word, stem] : examples) EXPECT_EQ(porter_stem(word), stem) << word;
}

/// A folder with a WordNet of three synsets: {car, auto, motor_vehicle} and {go, Travel} (verb),
/// {big(a), large} (adjective), and the exception went → go.
class Wordnet : public testing::Test {
 protected:
  void SetUp() override {
    // Named after the process: tests may run side by side.
    folder_ = fs::path(testing::TempDir()) / fmt::format("heed-wordnet-{}", ::getpid());
    fs::create_directories(folder_);
    write_part("noun", "n", {{"car", "auto", "motor_vehicle"}}, "");
    write_part("verb", "v", {{"go", "Travel"}}, "went go\n");
    write_part("adj", "a", {{"big(a)", "large"}}, "");
    write_part("adv", "r", {}, "");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write_part(const std::string& name, const std::string& letter,
                  const std::vector<Lines>& synsets, const std::string& exceptions) {
    std::string data = "  1 WordNet 3.0 Copyright\n", index = "  1 WordNet 3.0 Copyright\n";
    std::map<std::string, std::size_t> entries;
    for (const Lines& words : synsets) {
      for (const std::string& word : words)
        entries[lower(word.substr(0, word.find('(')))] = data.size();
      data += fmt::format("{:08} 00 {} {:02x}", data.size(), letter, words.size());
      for (const std::string& word : words) data += " " + word + " 0";
      data += " 000 | a gloss\n";
    }
    for (const auto& [lemma, offset] : entries) {
      index += fmt::format("{} {} 1 1 @ 1 0 {:08}  \n", lemma, letter, offset);
    }
    std::ofstream(folder_ / ("data." + name)) << data;
    std::ofstream(folder_ / ("index." + name)) << index;
    std::ofstream(folder_ / (name + ".exc")) << exceptions;
  }

  fs::path folder_;
};

TEST_F(Wordnet, FindsSynsetsOfBaseFormsAndTheirWords) {
  const WordNet wordnet(folder_);
  EXPECT_EQ(wordnet.version(), "3.0");
  ASSERT_EQ(wordnet.synsets("cars").size(), 1u);
  EXPECT_EQ(wordnet.words(wordnet.synsets("cars")[0]), (Lines{"car", "auto", "motor_vehicle"}));
  EXPECT_EQ(wordnet.synsets("went"), wordnet.synsets("travel"));
  EXPECT_EQ(wordnet.synsets("going"), wordnet.synsets("go"));
  EXPECT_EQ(wordnet.words(wordnet.synsets("larger").at(0)), (Lines{"big", "large"}));
  for (const char* unknown : {"", "a", "zebra", "ca", "carr", "-", "WordNet", "1"}) {
    EXPECT_TRUE(wordnet.synsets(unknown).empty()) << unknown;
  }
  EXPECT_THROW(WordNet(folder_ / "missing"), InputError);
}

TEST_F(Wordnet, GivesMeteorItsThirdStage) {
  const WordNet wordnet(folder_);
  const Lines hypothesis = {"big", "autos", "went"}, reference = {"large", "car", "travelled"};
  EXPECT_EQ(meteor_match(hypothesis, reference, {}).matches(), 0u);
  // autos – car by the base form; travelled is no form this morphology knows.
  const auto match = meteor_match(hypothesis, reference, {.wordnet = &wordnet});
  EXPECT_EQ(match.synonym, 2u);
  EXPECT_EQ(match.chunks, 1u);
}

TEST_F(Wordnet, HasNltksHabitsInItsVariant) {
  const WordNet wordnet(folder_);
  const auto synonyms = [&](const char* hypothesis, const char* reference, MeteorVariant variant) {
    return meteor_match(Lines{hypothesis}, Lines{reference},
                        {.variant = variant, .wordnet = &wordnet})
        .synonym;
  };
  EXPECT_EQ(synonyms("autos", "car", MeteorVariant::nltk), 1u);
  // The capital of Travel is kept, so the word in lower case is not found.
  EXPECT_EQ(synonyms("went", "travel", MeteorVariant::nltk), 0u);
  EXPECT_EQ(synonyms("went", "travel", MeteorVariant::fewest_chunks), 1u);
  // The stem of large is larg, which WordNet does not know.
  EXPECT_EQ(synonyms("large", "big", MeteorVariant::nltk), 0u);
  EXPECT_EQ(synonyms("large", "big", MeteorVariant::fewest_chunks), 1u);
}

TEST(Meteor, IsTheFormulaWorkedOutByHand) {
  // Six exact matches in the chunks "on the mat", "sat", "the cat"; both sides have 6 words.
  const auto metric =
      meteor(Lines{"on the mat sat the cat"}, std::vector<Lines>{{"the cat sat on the mat"}});
  EXPECT_EQ(metric.details.at("matches"), 6);
  EXPECT_EQ(metric.details.at("chunks"), 3);
  EXPECT_NEAR(metric.value, 100 * (1 - 0.5 * std::pow(3.0 / 6, 3)), 1e-12);
  // P = 2/2, R = 2/4, one chunk; stems count as much as exact words.
  const auto stems = meteor(Lines{"Cats Running"}, std::vector<Lines>{{"cat runs very fast"}});
  EXPECT_EQ(stems.details.at("stem"), 2);
  const double mean = 1 * 0.5 / (0.9 * 1 + 0.1 * 0.5);
  EXPECT_NEAR(stems.value, 100 * mean * (1 - 0.5 * std::pow(0.5, 3)), 1e-12);
}

TEST(Meteor, SumsCountsOverTheCorpusAndAveragesOnlyForNltk) {
  const Lines hypotheses = {"a b c d", "x"};
  const std::vector<Lines> references = {{"a b c d", "y"}};
  const auto summed = meteor(hypotheses, references);
  const double mean = 0.8;  // P = R = 4/5
  EXPECT_NEAR(summed.value, 100 * mean * (1 - 0.5 * std::pow(0.25, 3)), 1e-12);
  const auto averaged = meteor(hypotheses, references, {.variant = MeteorVariant::nltk});
  EXPECT_NEAR(averaged.value, 50 * (1 - 0.5 * std::pow(0.25, 3)), 1e-12);
  EXPECT_NEAR(summed.details.at("segment_mean"), averaged.value, 1e-12);
}

TEST(Meteor, TakesTheBestReferenceAndIsZeroForNothing) {
  const auto two = meteor(Lines{"a b"}, std::vector<Lines>{{"c d"}, {"a b"}});
  EXPECT_EQ(two.value, meteor(Lines{"a b"}, std::vector<Lines>{{"a b"}}).value);
  EXPECT_EQ(meteor(Lines{""}, std::vector<Lines>{{""}}).value, 0);
  EXPECT_EQ(meteor(Lines{}, std::vector<Lines>{{}}).value, 0);
  EXPECT_THROW(meteor(Lines{"a"}, {}), InputError);
  EXPECT_THROW(meteor(Lines{"a"}, std::vector<Lines>{{"a"}}, {.alpha = 2}), InputError);
}

TEST(Meteor, FewestChunksIsNeverWorseThanGreedy) {
  // The greedy stages take the last "the" first and split what could be one chunk.
  const Lines hypothesis = {"the", "dog", "saw"}, reference = {"the", "dog", "saw", "the"};
  EXPECT_EQ(meteor_match(hypothesis, reference, {.variant = MeteorVariant::nltk}).chunks, 2u);
  EXPECT_EQ(meteor_match(hypothesis, reference, {}).chunks, 1u);
}

/// Every alignment there is, the best of them.
MeteorMatch try_all(const std::vector<std::vector<Candidate>>& candidates, std::size_t length) {
  const auto order = [](const MeteorMatch& m) {
    return std::tuple(m.exact, m.stem, m.synonym, ~m.chunks);
  };
  MeteorMatch best;
  std::vector<bool> taken(length);
  const std::function<void(std::size_t, std::size_t, MeteorMatch)> extend =
      [&](std::size_t i, std::size_t last, MeteorMatch match) {
        if (i == candidates.size()) {
          if (order(best) < order(match)) best = match;
          return;
        }
        extend(i + 1, length + 1, match);
        for (const auto& [word, stage] : candidates[i]) {
          if (taken[word]) continue;
          MeteorMatch longer = match;
          ++(stage == Stage::exact  ? longer.exact
             : stage == Stage::stem ? longer.stem
                                    : longer.synonym);
          longer.chunks += word != last + 1;
          taken[word] = true;
          extend(i + 1, word, longer);
          taken[word] = false;
        }
      };
  extend(0, length + 1, {});
  return best;
}

TEST(Meteor, FewestChunksIsTheBestOfAllAlignments) {
  Random random(17);
  int mixed = 0;
  for (int round = 0; round < 3000; ++round) {
    // Words are numbers: equal ones match exactly, those with an equal half by stem, neighbours of
    // some by synonym.
    const std::size_t kinds = 2 + random.below(7);
    std::vector<std::size_t> hypothesis(random.below(7)), reference(random.below(7));
    for (auto* side : {&hypothesis, &reference}) {
      for (std::size_t& word : *side) word = random.below(kinds);
    }
    std::vector<std::vector<Candidate>> candidates(hypothesis.size());
    for (std::size_t i = 0; i < hypothesis.size(); ++i) {
      for (std::size_t j = 0; j < reference.size(); ++j) {
        const std::size_t h = hypothesis[i], r = reference[j];
        if (h == r) {
          candidates[i].push_back({j, Stage::exact});
        } else if (h / 2 == r / 2) {
          candidates[i].push_back({j, Stage::stem});
        } else if ((h + r) % 3 == 0) {
          candidates[i].push_back({j, Stage::synonym});
        }
      }
    }
    const MeteorMatch expected = try_all(candidates, reference.size());
    const MeteorMatch got = fewest_chunks(candidates, reference.size());
    ASSERT_EQ(std::tuple(got.exact, got.stem, got.synonym, got.chunks),
              std::tuple(expected.exact, expected.stem, expected.synonym, expected.chunks))
        << "round " << round;
    mixed += got.exact > 0 && got.stem > 0 && got.synonym > 0;
  }
  EXPECT_GT(mixed, 50);
}

TEST(Meteor, LongRunsOfOneWordEndInTime) {
  const Lines run(300, "a");
  const auto match = meteor_match(run, run, {});
  EXPECT_EQ(match.exact, 300u);
  EXPECT_EQ(match.chunks, 1u);
}

}  // namespace
}  // namespace heed::metrics
