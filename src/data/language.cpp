#include "heed/data/language.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>

#include "data/generate.hpp"
#include "heed/base/random.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

struct Meaning {
  std::string_view text, target;
};

constexpr Meaning kLanguageNouns[] = {{"dog", "kalo"},   {"cat", "miru"},   {"bird", "pisu"},
                                      {"boy", "nenu"},   {"girl", "doma"},  {"farmer", "hano"},
                                      {"king", "rego"},  {"horse", "tavo"}, {"doctor", "lupa"},
                                      {"driver", "beko"}};
constexpr Meaning kAdjectives[] = {{"big", "gran"}, {"small", "pico"}, {"old", "vena"},
                                   {"red", "rosi"}, {"blue", "blau"},  {"happy", "feli"}};
constexpr Meaning kVerbs[] = {{"see", "vide"},  {"like", "ama"},   {"follow", "sekve"},
                              {"hear", "auda"}, {"find", "trova"}, {"help", "porta"}};
constexpr Meaning kPrepositions[] = {{"in", "en"}, {"near", "apu"}, {"behind", "post"}};
constexpr Meaning kLocations[] = {{"garden", "jardo"}, {"river", "fluvo"}, {"house", "domo"}};
constexpr Meaning kLanguageAdverbs[] = {{"today", "hodi"}, {"often", "ofte"}, {"now", "nun"}};

using Links = std::vector<std::pair<std::size_t, std::size_t>>;

/// A stretch of the translation; a word knows the place it translates.
using Said = std::vector<std::pair<std::string, std::size_t>>;

class BilingualSentence {
 public:
  explicit BilingualSentence(Random& random) : random_(random) {
    const bool many = random_.chance(0.3);
    const Said subject = phrase(many);
    const bool negated = random_.chance(0.3);
    const Meaning& verb = pick(kVerbs);
    if (negated) {
      say(many ? "do" : "does");
      say("not");
    }
    const std::size_t no = text_.size() - 1;
    say(std::string(verb.text) + (many || negated ? "" : "s"));
    Said verbal = {{std::string(verb.target), text_.size() - 1}};
    if (negated) verbal.emplace_back("ne", no);
    const Said object = phrase(random_.chance(0.3));
    Said place, adverb;
    if (random_.chance(0.5)) {
      const Meaning &where = pick(kPrepositions), &what = pick(kLocations);
      say(where.text);
      say("the");
      say(what.text);
      place = {{std::string(what.target), text_.size() - 1},
               {std::string(where.target), text_.size() - 3}};
    }
    if (random_.chance(0.5)) {
      const Meaning& when = pick(kLanguageAdverbs);
      say(when.text);
      adverb = {{std::string(when.target), text_.size() - 1}};
    }
    for (const Said& part : {adverb, subject, object, place, verbal}) add(part);
  }

  Example example() && {
    std::vector<float> gold(text_.size(), 0.0f);
    for (const auto& [target, place] : links_) gold[place] = 1.0f;
    Example result;
    result.inputs["text"] = std::move(text_);
    result.gold["text"] = std::move(gold);
    result.target = std::move(target_);
    result.links = std::move(links_);
    return result;
  }

 private:
  template <std::size_t n>
  const Meaning& pick(const Meaning (&words)[n]) {
    return words[random_.below(n)];
  }
  void say(std::string_view word) { text_.emplace_back(word); }

  Said phrase(bool many) {
    const std::string ending = many ? "i" : "";
    Said said;
    say(many ? "two" : random_.chance(0.5) ? "the" : "a");
    if (many) said.emplace_back("du", text_.size() - 1);
    Said adjective;
    if (random_.chance(0.6)) {
      const Meaning& how = pick(kAdjectives);
      say(how.text);
      adjective = {{std::string(how.target) + ending, text_.size() - 1}};
    }
    const Meaning& noun = pick(kLanguageNouns);
    say(std::string(noun.text) + (many ? "s" : ""));
    said.emplace_back(std::string(noun.target) + ending, text_.size() - 1);
    said.insert(said.end(), adjective.begin(), adjective.end());
    return said;
  }

  void add(const Said& part) {
    for (const auto& [word, place] : part) {
      links_.emplace_back(target_.size(), place);
      target_.push_back(word);
    }
  }

  Random& random_;
  std::vector<std::string> text_, target_;
  Links links_;
};

/// The translation read as the text, and the text to be written.
Example turned(Example example) {
  std::swap(example.inputs["text"], example.target);
  for (auto& [target, place] : example.links) std::swap(target, place);
  std::ranges::sort(example.links);
  example.gold["text"].assign(example.inputs["text"].size(), 1.0f);  // all its words are said
  return example;
}

}  // namespace

Dataset language(const CorpusOptions& options) {
  std::unordered_set<std::string> seen;
  return generate("translate", {}, {{.name = "text"}}, options, [&](Random& random) {
    Example example;
    do {
      example = BilingualSentence(random).example();
    } while (!seen.insert(join(example.inputs["text"], " ")).second);
    return options.reverse ? turned(std::move(example)) : example;
  });
}

}  // namespace heed
