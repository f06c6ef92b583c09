// Tasks that answer with a sequence: their files and their corpora.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "data/scratch.hpp"
#include "heed/base/words.hpp"
#include "heed/data/geometry.hpp"
#include "heed/data/language.hpp"
#include "heed/data/segmenter.hpp"

namespace heed {
namespace {

using testing::expect_parts;
using testing::message_of;
using testing::Scratch;
using Tokens = std::vector<std::string>;

TEST(Translate, ReadsATableByItsColumnMap) {
  const Scratch scratch;
  scratch.write("d.tsv", "en\tde\tsplit\nA dog\tEin Hund\ttrain\na cat\teine Katze\ttest\n");
  const Dataset data = load_dataset({.kind = "translate",
                                     .data = "d.tsv",
                                     .columns = {{"text", "en"}, {"target", "de"}},
                                     .val_fraction = 0,
                                     .base = scratch.folder()});
  EXPECT_EQ(data.train[0].inputs.at("text"), (Tokens{"a", "dog"}));
  EXPECT_EQ(data.train[0].target, (Tokens{"ein", "hund"}));
  EXPECT_EQ(data.test[0].target, (Tokens{"eine", "katze"}));
  EXPECT_TRUE(data.labels.empty());
}

TEST(Translate, ReadsParallelTextAndCountsItsLines) {
  const Scratch scratch;
  scratch.write("train.en", "a dog\na cat\r\n");
  scratch.write("train.de", "ein hund\neine katze\n");
  DataSource source{.kind = "translate",
                    .train = "train.en",
                    .columns = {{"target", "de"}},
                    .val_fraction = 0,
                    .base = scratch.folder()};
  const Dataset data = load_dataset(source);
  ASSERT_EQ(data.train.size(), 2u);
  EXPECT_EQ(data.train[1].inputs.at("text"), (Tokens{"a", "cat"}));
  EXPECT_EQ(data.train[1].target, (Tokens{"eine", "katze"}));
  scratch.write("train.de", "ein hund\n");
  expect_parts(message_of([&] { load_dataset(source); }), {"train.de:2: 1 lines", "has 2"});
  scratch.write("train.de", "ein hund\n \n");
  expect_parts(message_of([&] { load_dataset(source); }), {"train.de:2: the target is empty"});
  scratch.write("train.de", "ein hund\n\xff\n");
  expect_parts(message_of([&] { load_dataset(source); }),
               {"train.de:2: byte 1", "0xFF", "not UTF-8"});
  scratch.write("train.de", std::string_view("ein hund\nx\0\n", 12));
  expect_parts(message_of([&] { load_dataset(source); }), {"train.de:2: byte 2", "zero byte"});
  source.columns.clear();
  expect_parts(message_of([&] { load_dataset(source); }), {"train.en: ", "[task.columns]"});
}

TEST(Translate, ReadsLinksFromATableAndFromLinesAndCutsThemWithTheText) {
  using Links = std::vector<std::pair<std::size_t, std::size_t>>;  // (target, text)
  const Scratch scratch;
  scratch.write("d.tsv", "text\ttarget\tlinks\tsplit\na b c\tx y\t0-1 2-0 1-1\ttrain\n");
  DataSource table{
      .kind = "translate", .data = "d.tsv", .val_fraction = 0, .base = scratch.folder()};
  EXPECT_EQ(load_dataset(table).train[0].links, (Links{{0, 2}, {1, 0}, {1, 1}}));
  table.max_length = 2;
  EXPECT_EQ(load_dataset(table).train[0].links, (Links{{1, 0}, {1, 1}}));
  scratch.write("t.en", "a b\nc\n");
  scratch.write("t.de", "x\ny z\n");
  scratch.write("t.gold", "1-0\n\n");
  const DataSource lines{.kind = "translate",
                         .train = "t.en",
                         .columns = {{"target", "de"}, {"links", "gold"}},
                         .val_fraction = 0,
                         .base = scratch.folder()};
  const Dataset data = load_dataset(lines);
  EXPECT_EQ(data.train[0].links, (Links{{0, 1}}));
  EXPECT_TRUE(data.train[1].links.empty());
  for (const auto& [bytes, reason] : {std::pair{"1-0\n0-2\n", "t.gold:2: link 0-2 is outside"},
                                      {"1-0\nx\n", "t.gold:2: 'x' is no link"},
                                      {"1?0\n\n", "t.gold:1: '1?0' is a possible link"},
                                      {"1-0\n", "t.gold:2: 1 lines"}}) {
    scratch.write("t.gold", bytes);
    expect_parts(message_of([&] { load_dataset(lines); }), {reason});
  }
}

TEST(Translate, AByteOrderMarkIsNoPartOfTheFirstWord) {
  const Scratch scratch;
  scratch.write("t.en",
                "\xEF\xBB\xBF"
                "a b\n");
  scratch.write("t.de", "\xEF\xBB\xBFx\n");
  const Dataset data = load_dataset({.kind = "translate",
                                     .train = "t.en",
                                     .columns = {{"target", "de"}},
                                     .val_fraction = 0,
                                     .base = scratch.folder()});
  EXPECT_EQ(data.train[0].inputs.at("text"), (Tokens{"a", "b"}));
  EXPECT_EQ(data.train[0].target, Tokens{"x"});
}

TEST(Translate, LinksThatAreNamedMustExistForSomePart) {
  const Scratch scratch;
  for (const char* name : {"t.en", "t.de", "e.en", "e.de"}) scratch.write(name, "a\n");
  const DataSource source{.kind = "translate",
                          .train = "t.en",
                          .test = "e.en",
                          .columns = {{"target", "de"}, {"links", "aling"}},
                          .val_fraction = 0,
                          .base = scratch.folder()};
  expect_parts(message_of([&] { load_dataset(source); }),
               {"t.aling: no such file", "[task.columns]", "\"aling\""});
  EXPECT_EQ(load_examples("t.en", source).size(), 1u) << "to answer, none are needed";
  scratch.write("e.aling", "0-0\n");
  EXPECT_EQ(load_dataset(source).test[0].links.size(), 1u) << "gold links are often the test's";
}

TEST(Translate, NewRowsNeedNoTarget) {
  const Scratch scratch;
  scratch.write("n.tsv", "text\na dog\n");
  const auto rows = load_examples("n.tsv", {.kind = "translate", .base = scratch.folder()});
  EXPECT_EQ(rows[0].inputs.at("text"), (Tokens{"a", "dog"}));
  EXPECT_TRUE(rows[0].target.empty());
}

TEST(Point, ReadsPointsAndNamesWhatIsWrong) {
  const Scratch scratch;
  const DataSource source{.kind = "point", .base = scratch.folder()};
  scratch.write("p.jsonl", "{\"points\": [[1e-60, 1], [0.5, 2e-1]], \"order\": [1, 0]}\n");
  const auto rows = load_examples("p.jsonl", source);
  EXPECT_EQ(rows[0].values.at("points").data, (std::vector<float>{0, 1, 0.5f, 0.2f}));
  EXPECT_EQ(rows[0].target, (Tokens{"1", "0"}));
  const std::pair<const char*, const char*> wrong[] = {
      {"[[0, 1, 2]], \"order\": [0]", "point 1 has 3 numbers"},
      {"[[0, 1]], \"order\": [1]", "the order names point 1; there are 1"},
      {"\"0 1; 0 x\", \"order\": [0]", "'x' is not a number"},
      {"[[0, 1]], \"order\": [-1]", "'-1' is not the number of a point"},
      {"[[0, 1e99]], \"order\": [0]", "'1e+99' is not finite"},
  };
  for (const auto& [cells, reason] : wrong) {
    scratch.write("p.jsonl", std::string("\n{\"points\": ") + cells + "}\n");
    expect_parts(message_of([&] { load_examples("p.jsonl", source); }), {"p.jsonl:2: ", reason});
  }
}

std::vector<Point> random_points(std::uint64_t seed, std::size_t n) {
  return points_of(hull({.train = 1, .val = 1, .test = 1, .seed = seed, .n = n}).train[0]);
}

double turn(const Point& a, const Point& b, const Point& c) {
  return (b.first - a.first) * (c.second - a.second) - (b.second - a.second) * (c.first - a.first);
}

TEST(Hull, HasEveryPointOnItsLeftAndStartsAtTheLowestNumber) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto points = random_points(seed, 3 + seed % 12);
    const auto corners = convex_hull(points);
    EXPECT_EQ(corners.front(), *std::ranges::min_element(corners));
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Point &a = points[corners[i]], &b = points[corners[(i + 1) % corners.size()]];
      for (std::size_t p = 0; p < points.size(); ++p) {
        if (p != corners[i] && p != corners[(i + 1) % corners.size()]) {
          EXPECT_GT(turn(a, b, points[p]), 0) << "seed " << seed;
        }
      }
    }
  }
}

TEST(Tour, IsTheShortestOfAllOrders) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto points = random_points(seed, 4 + seed % 4);
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    double shortest = 1e9;
    do shortest = std::min(shortest, tour_length(points, order));
    while (std::ranges::next_permutation(order.begin() + 1, order.end()).found);
    const auto tour = shortest_tour(points);
    EXPECT_NEAR(tour_length(points, tour), shortest, 1e-12);
    EXPECT_EQ(tour[0], 0u);
    EXPECT_LT(tour[1], tour.back());
    EXPECT_EQ(std::set(tour.begin(), tour.end()).size(), points.size());
  }
}

TEST(Area, OfTheUnitSquareIsOne) {
  const std::vector<Point> points = {{0, 0}, {1, 1}, {1, 0}, {0, 1}};
  EXPECT_DOUBLE_EQ(polygon_area(points, convex_hull(points)), 1);
  EXPECT_DOUBLE_EQ(tour_length(points, shortest_tour(points)), 4);
}

std::uint64_t fingerprint(const Dataset& data) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  };
  for (const auto* part : {&data.train, &data.val, &data.test}) {
    for (const Example& example : *part) {
      add(example.id + "\t" + example.label + "\t" + join(example.target, " "));
      for (const auto& [name, words] : example.inputs) add(name + join(words, " "));
      for (const auto& [name, values] : example.values) {
        for (const float value : values.data) add(fmt::format("{:.9g}", value));
      }
      for (const auto& [name, weights] : example.gold) {
        for (const float weight : weights) add(weight > 0 ? "1" : "0");
      }
    }
  }
  return hash;
}

TEST(SequenceCorpora, AreTheSameOnEveryMachineAndTestDoesNotDependOnTrain) {
  using Make = Dataset (*)(const CorpusOptions&);
  const std::pair<Make, std::uint64_t> corpora[] = {
      {language, 11226249125683530482u}, {phonemes, 9107850777798839709u},
      {dialogue, 10215437656088674782u}, {hull, 17039110111025700480u},
      {tsp, 11659015551909928501u},      {sort, 6574612176097169919u}};
  for (const auto& [make, expected] : corpora) {
    const Dataset data = make({.train = 60, .val = 20, .test = 20});
    EXPECT_EQ(fingerprint(data), expected) << data.name;
    const Dataset larger = make({.train = 90, .val = 20, .test = 20});
    EXPECT_EQ(larger.test[19].target, data.test[19].target) << data.name;
    EXPECT_EQ(larger.test[19].inputs, data.test[19].inputs) << data.name;
    EXPECT_NE(fingerprint(make({.train = 60, .val = 20, .test = 20, .seed = 2})), expected);
  }
}

TEST(Language, LinksEveryWordAndMarksWhatIsTranslated) {
  const Dataset data = language({.train = 500, .val = 1, .test = 1});
  std::set<std::string> seen;
  std::map<std::string, std::set<std::string>> meanings;
  for (const Example& example : data.train) {
    const Tokens& text = example.inputs.at("text");
    EXPECT_TRUE(seen.insert(join(text, " ")).second);
    ASSERT_EQ(example.links.size(), example.target.size());
    std::vector<float> marked(text.size(), 0.0f);
    for (const auto& [target, place] : example.links) {
      meanings[text.at(place)].insert(example.target.at(target));
      marked[place] = 1.0f;
    }
    EXPECT_EQ(example.gold.at("text"), marked);
  }
  // One word of the text has one translation; only the agreeing adjectives have two.
  for (const auto& [word, translations] : meanings) EXPECT_LE(translations.size(), 2u) << word;
  EXPECT_EQ(meanings.at("not"), std::set<std::string>{"ne"});
  EXPECT_FALSE(meanings.contains("the"));
}

TEST(Language, ReversedIsTheSameTextsTheOtherWayRound) {
  const Dataset there = language({.train = 50, .val = 1, .test = 1}),
                back = language({.train = 50, .val = 1, .test = 1, .reverse = true});
  const Example &forth = there.train[0], &turned = back.train[0];
  EXPECT_EQ(turned.inputs.at("text"), forth.target);
  EXPECT_EQ(turned.target, forth.inputs.at("text"));
  ASSERT_EQ(turned.links.size(), forth.links.size());
  for (const auto& [target, place] : forth.links)
    EXPECT_EQ(std::ranges::count(turned.links, std::pair(place, target)), 1);
  expect_parts(message_of([] {
                 load_dataset({.kind = "translate", .data = "builtin:translate?reverse=2"});
               }),
               {"reverse is 2"});
}

TEST(Dialogue, TheLastWordOfThePersonAskedAboutDecides) {
  for (const Example& example : dialogue({.train = 500, .val = 1, .test = 1}).train) {
    const Tokens& text = example.inputs.at("text");
    const auto& lengths = example.levels.at("text").at(0);
    EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}),
              static_cast<std::int64_t>(text.size()));
    const View& question = example.views.at("question");
    EXPECT_EQ(text[question.end - 1], "?");
    EXPECT_EQ(example.target.back(), example.label);
    const auto& gold = example.gold.at("text");
    std::multiset<std::string> marked;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (gold[i] > 0) marked.insert(text[i]);
    }
    EXPECT_EQ(marked.count(example.label), 1u) << join(text, " ");
    EXPECT_EQ(marked.count(example.target.front()), 2u) << join(text, " ");  // said, and asked
    EXPECT_EQ(marked.size(), 4u) << join(text, " ");
  }
}

TEST(Phonemes, LastTwoToSixFrames) {
  for (const Example& example : phonemes({.train = 200, .val = 1, .test = 1}).train) {
    const auto& gold = example.gold.at("frames");
    EXPECT_EQ(gold.size(), example.values.at("frames").length());
    const auto spoken = static_cast<std::size_t>(std::ranges::count(gold, 1.0f));
    EXPECT_GE(spoken, 2 * example.target.size());
    EXPECT_LE(spoken, 6 * example.target.size());
  }
}

TEST(Phonemes, EveryFrameWithSoundBelongsToOneInOrder) {
  for (const Example& example : phonemes({.train = 200, .val = 1, .test = 1}).train) {
    const auto& gold = example.gold.at("frames");
    std::size_t last = 0, linked = 0;
    for (const auto& [phoneme, frame] : example.links) {
      EXPECT_TRUE(phoneme == last || phoneme == last + 1);
      EXPECT_EQ(gold.at(frame), 1.0f);
      last = phoneme, ++linked;
    }
    EXPECT_EQ(last + 1, example.target.size());
    EXPECT_EQ(linked, static_cast<std::size_t>(std::ranges::count(gold, 1.0f)));
  }
}

TEST(Segmenter, PiecesAreTheTextAgainAndEverythingCountsInThem) {
  const Dataset data = language({.train = 300, .val = 1, .test = 1});
  WordCounts counts = count_targets(data.train);
  for (const auto& [word, count] : count_words(data.train)) counts[word] += count;
  const auto segmenter = Segmenter::learn(counts, {.size = 60});
  Example example;
  example.inputs["text"] = {"farmers", "see", "the", "µ"};
  example.target = {"hanoi"};
  example.gold["text"] = {1, 0, 0.5f, 0};
  example.levels["text"] = {{1, 3}};
  example.links = {{0, 0}};
  example.views["tail"] = {.of = "text", .begin = 1, .end = 4};
  const Example cut = segmenter->cut(example);
  const Tokens& pieces = cut.inputs.at("text");
  EXPECT_GT(pieces.size(), 4u);
  EXPECT_EQ(pieces.back(), "▁µ");  // a letter nobody knows
  EXPECT_EQ(written(pieces, segmenter.get()), "farmers see the µ");
  EXPECT_EQ(written(cut.target, segmenter.get()), "hanoi");
  const auto first = segmenter->cut(Tokens{"farmers"}).size();
  EXPECT_EQ(cut.levels.at("text")[0][0], static_cast<std::int64_t>(first));
  EXPECT_EQ(cut.views.at("tail").begin, first);
  EXPECT_EQ(cut.views.at("tail").end, pieces.size());
  EXPECT_EQ(cut.links.size(), first * cut.target.size()) << "every piece with every piece";
  EXPECT_EQ(cut.links.back(), std::pair(cut.target.size() - 1, first - 1));
  EXPECT_EQ(segmenter->places(example.inputs.at("text"))[1], first);
  EXPECT_EQ(segmenter->places(example.inputs.at("text")).back(), pieces.size());
  EXPECT_EQ(cut.gold.at("text").size(), pieces.size());
  EXPECT_EQ(std::ranges::count(cut.gold.at("text"), 1.0f), static_cast<std::ptrdiff_t>(first));
}

}  // namespace
}  // namespace heed
