// Each choice below is made the same way for both labels, so no filler, negator or connective tells
// the label; and a sentiment word alone tells little: it may be negated, outvoted by another
// clause, or belong to an opinion that does not count. The order of the words decides.
#include "heed/data/reviews.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_set>

#include "data/reviews_words.hpp"
#include "heed/base/error.hpp"
#include "heed/base/random.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

using namespace reviews_words;

constexpr std::size_t kShortest = 5, kLongest = 40;
constexpr std::size_t kRoomForContrast = 16, kRoomForDistractor = 10;
constexpr double kNegated = 0.25, kContrasted = 0.3, kDistracted = 0.7, kPlain = 0.1;

struct Text {
  std::vector<std::string> tokens;
  std::vector<float> gold;

  void add(std::string_view words, bool decides = false) {
    for (std::string& word : split_words(words)) {
      tokens.push_back(std::move(word));
      gold.push_back(decides ? 1.0f : 0.0f);
    }
  }

  void add(const Text& other) {
    tokens.insert(tokens.end(), other.tokens.begin(), other.tokens.end());
    gold.insert(gold.end(), other.gold.begin(), other.gold.end());
  }
};

class Writer {
 public:
  explicit Writer(Random& random)
      : random_(random), domain_(kDomains[random.below(kDomains.size())]) {}

  Text sentence(bool positive) {
    // The smaller of two draws: short sentences are common, long ones occur.
    constexpr std::size_t kLengths = kLongest - kShortest + 1;
    const std::size_t draws[] = {random_.below(kLengths), random_.below(kLengths)};
    const std::size_t target = kShortest + std::min(draws[0], draws[1]);
    Text core = target >= kRoomForContrast && random_.chance(kContrasted) ? contrast(positive)
                                                                          : opinion(positive);
    // What surrounds the core; its place among them is drawn last.
    std::vector<Text> around;
    std::size_t length = core.tokens.size() + 1;
    const auto append = [&](Text text) {
      if (length + text.tokens.size() + 1 > kLongest) return;
      length += text.tokens.size() + 1;
      around.push_back(std::move(text));
    };
    while (length + kRoomForDistractor <= target && random_.chance(kDistracted)) {
      append(clause(pick(kDistractors), random_.chance(0.5), random_.chance(kNegated), false));
    }
    while (length + 2 < target) {
      append(
          clause(target - length > 6 ? pick(kFillers) : pick(kShortFillers), false, false, false));
    }
    random_.shuffle(std::span(around));
    const std::size_t place = random_.below(around.size() + 1);
    around.insert(around.begin() + static_cast<std::ptrdiff_t>(place), std::move(core));
    return joined(around);
  }

 private:
  std::string_view pick(Words words) { return words[random_.below(words.size())]; }

  Text opinion(bool positive) {
    if (random_.chance(kPlain)) return clause(pick(kPlainOpinions), positive, false, true);
    return clause(pick(kOpinions), positive, random_.chance(kNegated), true);
  }

  Text contrast(bool positive) {
    Text text;
    for (const std::string& part : split_words(pick(kContrasts))) {
      if (part == "{A}") {
        text.add(clause(pick(kOpinions), !positive, random_.chance(kNegated), false));
      } else if (part == "{B}") {
        text.add(clause(pick(kOpinions), positive, random_.chance(kNegated), true));
      } else {
        text.add(part);
      }
    }
    return text;
  }

  // Fills a pattern. A negated clause says `positive` with a word of the other sentiment.
  Text clause(std::string_view pattern, bool positive, bool negated, bool decides) {
    // Where a pattern has no place for the negator, the clause still says what it is meant to.
    const bool can_negate =
        pattern.find("{not}") != pattern.npos || pattern.find("{never}") != pattern.npos;
    negated = negated && can_negate;
    const bool good = positive != negated;
    Text text;
    for (const std::string& part : split_words(pattern)) {
      if (part[0] != '{') {
        text.add(part);
      } else if (part == "{S}") {
        text.add(pick(good ? Words(kPositiveAdjectives) : Words(kNegativeAdjectives)), decides);
      } else if (part == "{V}") {
        text.add(pick(good ? Words(kPositiveVerbs) : Words(kNegativeVerbs)), decides);
      } else if (part == "{N}") {
        text.add(pick(good ? Words(kPositiveNouns) : Words(kNegativeNouns)), decides);
      } else if (part == "{not}" || part == "{never}") {
        if (negated)
          text.add(pick(part == "{not}" ? Words(kNegators) : Words(kVerbNegators)), decides);
      } else if (part == "{and}") {
        // "not good and bad" would be unclear, so only a plain adjective gets company.
        if (!negated && random_.chance(0.25)) {
          text.add("and");
          text.add(pick(good ? Words(kPositiveAdjectives) : Words(kNegativeAdjectives)), decides);
        }
      } else if (part == "{adv}") {
        if (random_.chance(0.4)) text.add(pick(kAdverbs));
      } else if (part == "{other}") {
        text.add(clause(pick(kOthers), false, false, false));
      } else {
        text.add(pick(words_of(part)));
      }
    }
    return text;
  }

  Words words_of(std::string_view slot) const {
    if (slot == "{thing}") return domain_.things;
    if (slot == "{aspect}") return domain_.aspects;
    if (slot == "{object}") return domain_.objects;
    if (slot == "{neutral}") return kNeutralAdjectives;
    if (slot == "{person}") return kPersons;
    if (slot == "{critic}") return kCritics;
    if (slot == "{advert}") return kAdvertisements;
    if (slot == "{time}") return kTimes;
    if (slot == "{place}") return kPlaces;
    return kNumbers;
  }

  Text joined(std::span<const Text> parts) {
    static constexpr std::string_view kSeparators[] = {".", ".", ".", ";", ",", "and"};
    Text text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool phrase = i > 0 && std::min(parts[i - 1].tokens.size(), parts[i].tokens.size()) < 4;
      if (i > 0) text.add(phrase ? "," : pick(kSeparators));
      text.add(parts[i]);
    }
    text.add(random_.chance(0.85) ? "." : "!");
    for (std::size_t i = 0; i + 1 < text.tokens.size(); ++i) {
      const bool vowel =
          std::string_view("aeiou").find(text.tokens[i + 1][0]) != std::string_view::npos;
      if (text.tokens[i] == "a" && vowel && text.tokens[i + 1] != "usual") text.tokens[i] = "an";
    }
    return text;
  }

  Random& random_;
  const Domain& domain_;
};

std::vector<Example> part(std::string_view name, std::size_t size, std::uint64_t seed,
                          std::unordered_set<std::string>& seen) {
  Random random(seed);
  std::vector<Example> examples;
  examples.reserve(size);
  bool positive = false;
  for (std::size_t i = 0; i < size; ++i) {
    positive = i % 2 == 0 ? random.chance(0.5) : !positive;  // one of each in every pair
    Text text;
    do {
      text = Writer(random).sentence(positive);
    } while (text.tokens.size() < kShortest || !seen.insert(join(text.tokens, " ")).second);
    examples.push_back({.id = fmt::format("{}-{}", name, i + 1),
                        .inputs = {{"text", std::move(text.tokens)}},
                        .label = positive ? "positive" : "negative",
                        .gold = {{"text", std::move(text.gold)}}});
  }
  return examples;
}

}  // namespace

Dataset reviews(const CorpusOptions& options) {
  HEED_CHECK(options.train > 0, "builtin:reviews: size is 0; at least one sentence is needed");
  Dataset data;
  data.name = "reviews";
  data.labels = {"negative", "positive"};
  // Test first: it stays the same when only the size of the training part changes.
  std::unordered_set<std::string> seen;
  data.test = part("test", options.test, Random::derive(options.seed, 3), seen);
  data.val = part("val", options.val, Random::derive(options.seed, 2), seen);
  data.train = part("train", options.train, Random::derive(options.seed, 1), seen);
  return data;
}

}  // namespace heed
