#include "data/text_corpora.hpp"

#include <unordered_set>

#include "data/generate.hpp"
#include "data/reviews_words.hpp"
#include "data/stories.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

namespace rw = reviews_words;

template <class Items>
auto pick_of(Random& random, const Items& items) {
  return std::string(items[random.below(std::size(items))]);
}

/// Words with the attention they deserve.
struct Marked {
  std::vector<std::string> words = {};
  std::vector<float> gold = {};

  void add(std::string_view text, bool decides = false) {
    for (std::string& word : split_words(text)) {
      words.push_back(std::move(word));
      gold.push_back(decides ? 1.0f : 0.0f);
    }
  }
};

/// "was not very good": the words that tell the opinion, negated a third of the time.
void add_opinion(Marked& text, bool positive, bool decides, Random& random) {
  const bool negated = random.chance(1.0 / 3);
  if (negated) text.add("not", decides);
  if (random.chance(0.3)) text.add(pick_of(random, rw::kAdverbs));
  const bool good = positive != negated;
  text.add(
      good ? pick_of(random, rw::kPositiveAdjectives) : pick_of(random, rw::kNegativeAdjectives),
      decides);
}

Example aspect_review(Random& random) {
  constexpr std::string_view kThings[] = {"food",  "service", "room",   "price",  "music",
                                          "staff", "garden",  "coffee", "screen", "battery"};
  std::vector<std::string> things(std::begin(kThings), std::end(kThings));
  random.shuffle(std::span(things));
  const std::size_t clauses = 2 + random.below(2), asked = random.below(clauses);
  const bool positive = random.chance(0.5);
  Example example;
  Marked text;
  for (std::size_t i = 0; i < clauses; ++i) {
    constexpr std::string_view kJoints[] = {"and", ", but", "while", ", though"};
    if (i > 0) text.add(pick_of(random, kJoints));
    text.add("the");
    if (i == asked)
      example.views["target"] = {
          .of = "text", .begin = text.words.size(), .end = text.words.size() + 1};
    text.add(things[i]);
    text.add("was");
    // The first other clause disagrees: the sentiment of the sentence tells nothing.
    const bool other = i == (asked == 0 ? 1 : 0) ? !positive : random.chance(0.5);
    add_opinion(text, i == asked ? positive : other, i == asked, random);
  }
  text.add(".");
  const std::size_t begin = example.views["target"].begin, end = begin + 1;
  example.views["left"] = {.of = "text", .begin = 0, .end = begin};
  example.views["right"] = {.of = "text", .begin = end, .end = text.words.size()};
  example.label = positive ? "positive" : "negative";
  example.inputs["text"] = std::move(text.words);
  example.gold["text"] = std::move(text.gold);
  return example;
}

Example statement_pair(Random& random) {
  constexpr std::string_view kNames[] = {"ann", "bob", "carl", "dora", "emil", "fay", "gus", "ida"};
  constexpr std::string_view kColours[] = {"red", "blue", "green", "white", "black", "yellow"};
  constexpr std::string_view kThings[] = {"ball", "book", "cup", "hat", "kite", "lamp"};
  std::vector<std::string> names(std::begin(kNames), std::end(kNames));
  random.shuffle(std::span(names));
  const std::size_t people = 2 + random.below(3), asked = random.below(people);
  const char* const labels[] = {"contradiction", "entailment", "neutral"};
  Example example;
  example.label = labels[random.below(3)];
  const bool open = example.label == "neutral";
  Marked first;
  std::string colour, thing;
  for (std::size_t i = 0; i < people; ++i) {
    if (i > 0) first.add(i + 1 == people ? "and" : ",");
    const std::string c = pick_of(random, kColours), t = pick_of(random, kThings);
    if (i == asked) colour = c, thing = t;
    first.add(names[i] + " has a " + c + " " + t, i == asked && !open);
  }
  first.add(".");
  if (example.label == "contradiction") {
    const std::string before = colour;
    while (colour == before) colour = pick_of(random, kColours);
  }
  example.inputs["second"] =
      split_words(names[open ? people : asked] + " has a " + colour + " " + thing + " .");
  example.inputs["first"] = std::move(first.words);
  example.gold["first"] = std::move(first.gold);
  return example;
}

Example review_document(Random& random) {
  const bool positive = random.chance(0.5);
  const std::size_t sentences = 4 + random.below(5), decides = random.below(sentences);
  Example example;
  Marked text;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < sentences; ++i) {
    const std::size_t before = text.words.size();
    if (i == decides) {
      text.add("in the end i found it");
      add_opinion(text, positive, true, random);
    } else if (random.chance(0.5)) {
      text.add(
          pick_of(random, random.chance(0.5) ? rw::Words(rw::kPersons) : rw::Words(rw::kCritics)));
      text.add("called it");
      add_opinion(text, random.chance(0.5), false, random);
    } else {
      text.add("the " + pick_of(random, rw::kNeutralAdjectives) + " door was open " +
               pick_of(random, rw::kTimes));
    }
    text.add(".");
    lengths.push_back(static_cast<std::int64_t>(text.words.size() - before));
  }
  example.levels["text"] = {std::move(lengths)};
  example.label = positive ? "positive" : "negative";
  example.inputs["text"] = std::move(text.words);
  example.gold["text"] = std::move(text.gold);
  return example;
}

/// Where somebody is and what they carry, with the sentences that say so.
struct Person {
  std::string name, place;
  std::size_t arrived = 0;
};

Example story(Random& random) {
  constexpr std::string_view kPlaces[] = {"kitchen", "garden",  "hall",
                                          "office",  "bedroom", "attic"};
  constexpr std::string_view kThings[] = {"ball", "book", "apple"};
  std::vector<Person> people = {{.name = "mary"}, {.name = "john"}, {.name = "sara"}};
  std::map<std::string, std::pair<std::size_t, std::size_t>> carried;  // thing → person, sentence
  std::vector<Sentence> told;
  const std::size_t length = 5 + random.below(8);
  while (told.size() < length || carried.empty()) {
    const std::size_t who = random.below(people.size());
    Person& person = people[who];
    const std::string thing = pick_of(random, kThings);
    if (!person.place.empty() && !carried.contains(thing) && random.chance(0.4)) {
      carried[thing] = {who, told.size()};
      told.push_back({.words = {person.name, "took", "the", thing}});
      continue;
    }
    const std::string before = person.place;
    while (person.place == before) person.place = pick_of(random, kPlaces);
    person.arrived = told.size();
    told.push_back({.words = {person.name, "went", "to", "the", person.place}});
  }
  Example example;
  if (random.chance(0.5)) {
    const auto& [thing, by] =
        *std::next(carried.begin(), static_cast<std::ptrdiff_t>(random.below(carried.size())));
    const Person& person = people[by.first];
    told[by.second].gold = told[person.arrived].gold = 1;
    example.inputs["question"] = {"where", "is", "the", thing};
    example.label = person.place;
  } else {
    std::size_t who = random.below(people.size());
    while (people[who].place.empty()) who = random.below(people.size());
    told[people[who].arrived].gold = 1;
    example.inputs["question"] = {"where", "is", people[who].name};
    example.label = people[who].place;
  }
  set_story(example, "story", told, 0);
  return example;
}

}  // namespace

Dataset aspect_reviews(const CorpusOptions& options) {
  return generate("reviews", {"negative", "positive"},
                  {{.name = "text"}, {.name = "target"}, {.name = "left"}, {.name = "right"}},
                  options, aspect_review);
}

Dataset statement_pairs(const CorpusOptions& options) {
  return generate("statements", {"contradiction", "entailment", "neutral"},
                  {{.name = "first"}, {.name = "second"}}, options, statement_pair);
}

Dataset review_documents(const CorpusOptions& options) {
  return generate("reviews", {"negative", "positive"}, {{.name = "text", .levels = 1}}, options,
                  review_document);
}

Dataset stories(const CorpusOptions& options) {
  return generate("stories", {"attic", "bedroom", "garden", "hall", "kitchen", "office"},
                  {{.name = "story", .levels = 1}, {.name = "question"}}, options, story);
}

}  // namespace heed
