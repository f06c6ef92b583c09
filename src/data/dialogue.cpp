#include <algorithm>
#include <array>
#include <set>

#include "data/generate.hpp"
#include "heed/base/words.hpp"
#include "heed/data/language.hpp"

namespace heed {
namespace {

using Word = std::string_view;

/// What people talk about: how they say it, how it is asked, which word of the question
/// tells it, how the reply begins.
struct Topic {
  Word says, asks, about, replies;
  std::array<Word, 4> things;
};

constexpr Topic kTopics[] = {
    {"i would like",
     "what would {} like ?",
     "like",
     "would like",
     {"tea", "coffee", "juice", "water"}},
    {"i live in", "where does {} live ?", "live", "lives in", {"paris", "rome", "oslo", "delft"}},
    {"i have a", "what does {} have ?", "have", "has a", {"cat", "dog", "parrot", "rabbit"}},
};
constexpr Word kPeople[] = {"anna", "ben", "carla", "david"};
constexpr Word kSmallTalk[] = {"hello to all of you", "nice to see you again",
                               "what a lovely day it is", "sorry i am late"};
constexpr Word kCorrections[] = {"no , rather", "sorry , i meant"};

class Talk {
 public:
  explicit Talk(Random& random) : random_(random) {
    const Word asked = pick(kPeople);
    const Topic& topic = kTopics[random_.below(std::size(kTopics))];
    const std::size_t before = random_.below(3), between = random_.below(3);
    for (std::size_t i = 0; i < before; ++i) say_something(asked, topic);
    Word thing = pick(topic.things);
    state(asked, topic, thing);
    for (std::size_t i = 0; i < between; ++i) say_something(asked, topic);
    if (random_.chance(0.3)) {
      std::ranges::fill(gold_, 0.0f);
      Word other = pick(topic.things);
      while (other == thing) other = pick(topic.things);
      state(asked, topic, thing = other, pick(kCorrections));
    }
    ask(asked, topic);
    reply_ = split_words(fmt_reply(asked, topic, thing));
  }

  Example example() && {
    const auto length = static_cast<std::size_t>(lengths_.back());
    Example result;
    result.views["question"] = {.of = "text", .begin = text_.size() - length, .end = text_.size()};
    result.inputs["text"] = std::move(text_);
    result.gold["text"] = std::move(gold_);
    result.levels["text"] = {std::move(lengths_)};
    result.label = reply_.back();
    result.target = std::move(reply_);
    return result;
  }

 private:
  template <class Words>
  Word pick(const Words& words) {
    return words[random_.below(std::size(words))];
  }

  static std::string fmt_reply(Word person, const Topic& topic, Word thing) {
    return std::string(person) + " " + std::string(topic.replies) + " " + std::string(thing);
  }

  void utter(std::string_view words, const std::set<Word>& deciding = {}) {
    const std::vector<std::string> split = split_words(words);
    for (const std::string& word : split) {
      text_.push_back(word);
      gold_.push_back(deciding.contains(word) ? 1.0f : 0.0f);
    }
    lengths_.push_back(static_cast<std::int64_t>(split.size()));
  }

  void state(Word person, const Topic& topic, Word thing, Word correction = {}) {
    const std::string says(correction.empty() ? topic.says : correction);
    utter(std::string(person) + " : " + says + " " + std::string(thing), {person, thing});
  }

  /// Small talk, or what somebody else says of anything, or the same person of something else.
  void say_something(Word asked, const Topic& topic) {
    const Word person = pick(kPeople);
    const Topic& other = kTopics[random_.below(std::size(kTopics))];
    if (random_.chance(0.25) || (person == asked && &other == &topic)) {
      utter(std::string(person) + " : " + std::string(pick(kSmallTalk)));
    } else {
      utter(std::string(person) + " : " + std::string(other.says) + " " +
            std::string(pick(other.things)));
    }
  }

  void ask(Word person, const Topic& topic) {
    std::string question(topic.asks);
    question.replace(question.find("{}"), 2, person);
    utter(question, {person, topic.about});
  }

  Random& random_;
  std::vector<std::string> text_, reply_;
  std::vector<float> gold_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace

Dataset dialogue(const CorpusOptions& options) {
  Dataset data = generate("dialogue", {}, {{.name = "text", .levels = 1}, {.name = "question"}},
                          options, [](Random& random) { return Talk(random).example(); });
  std::set<std::string> labels;
  for (const Topic& topic : kTopics) labels.insert(topic.things.begin(), topic.things.end());
  data.labels.assign(labels.begin(), labels.end());
  return data;
}

}  // namespace heed
