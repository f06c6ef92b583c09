#include "mechanisms/tasks.hpp"

namespace heed {
namespace {

constexpr std::int64_t kN = Task::kClasses;

std::int64_t draw(Random& random, std::int64_t n) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
}

std::vector<std::int64_t> permutation(Random& random, std::int64_t n) {
  std::vector<std::int64_t> p;
  for (std::int64_t i = 0; i < n; ++i) p.push_back(i);
  for (std::int64_t i = n - 1; i > 0; --i)
    std::swap(p[static_cast<std::size_t>(i)], p[static_cast<std::size_t>(draw(random, i + 1))]);
  return p;
}

std::int64_t at(const std::vector<std::int64_t>& p, std::int64_t i) {
  return p[static_cast<std::size_t>(i)];
}

/// Tokens of a batch, [B, N, D], all zero at first.
struct Tokens {
  Tensor data;
  Tokens(std::int64_t B, std::int64_t N, std::int64_t D) : data(torch::zeros({B, N, D})) {}
  float& operator()(std::int64_t b, std::int64_t n, std::int64_t d) {
    return data.mutable_data_ptr<float>()[(b * data.size(1) + n) * data.size(2) + d];
  }
};

/// Numbers of a batch, [B].
struct Labels {
  Tensor data;
  explicit Labels(std::int64_t B) : data(torch::zeros({B}, torch::kInt64)) {}
  std::int64_t& operator()(std::int64_t b) { return data.mutable_data_ptr<std::int64_t>()[b]; }
};

/// kN tokens [name; symbol], names in any order, symbols a permutation: symbol of each name.
std::vector<std::int64_t> fill_memory(Tokens& tokens, std::int64_t b, Random& random) {
  const auto names = permutation(random, kN), symbols = permutation(random, kN);
  for (std::int64_t n = 0; n < kN; ++n) {
    tokens(b, n, at(names, n)) = 1;
    tokens(b, n, kN + at(symbols, at(names, n))) = 1;
  }
  return symbols;
}

}  // namespace

Task two_step_question(PartSpec queries) {
  constexpr std::int64_t kThings = 3 * kN;  // where chains begin, pass and end
  constexpr float kLoud = 2;                // one match outweighs all else in a softmax
  return {.name = "two-step question",
          .parts = {.mechanism = "singular", .score = "dot", .queries = std::move(queries)},
          .inputs = {{.name = "facts", .dim = 2 * kThings}},
          .query_dim = 2 * kThings,
          .batch = [](std::int64_t B, Random& random) {
            Tokens facts(B, kThings, 2 * kThings), query(B, 1, 2 * kThings);
            Labels labels(B);
            for (std::int64_t b = 0; b < B; ++b) {
              const auto place = permutation(random, kThings);
              const auto step = permutation(random, kN), end = permutation(random, kN);
              const auto fact = [&](std::int64_t from, std::int64_t to) {
                facts(b, at(place, from), from) = facts(b, at(place, from), kThings + to) = kLoud;
              };
              for (std::int64_t i = 0; i < kN; ++i) {
                fact(i, kN + at(step, i));
                fact(kN + i, 2 * kN + at(end, i));
                fact(2 * kN + i, 2 * kN + i);  // the end leads to itself
              }
              const std::int64_t asked = draw(random, kN);
              query(b, 0, asked) = kLoud;
              labels(b) = at(end, at(step, asked));
            }
            TaskBatch batch{.in = {}, .labels = labels.data};
            batch.in.set("facts", facts.data);
            batch.in.query = query.data.squeeze(1);
            return batch;
          }};
}

Task yes_of_one_class() {
  return {.name = "yes of one class",
          .parts = {.mechanism = "singular", .score = "additive", .queries = "capsule"},
          .inputs = {{.name = "text", .dim = kN + 2}},
          .query_dim = 0,
          .batch = [](std::int64_t B, Random& random) {
            Tokens text(B, kN, kN + 2);
            Labels labels(B);
            for (std::int64_t b = 0; b < B; ++b) {
              const auto place = permutation(random, kN);
              labels(b) = draw(random, kN);
              for (std::int64_t n = 0; n < kN; ++n) {
                text(b, at(place, n), n) = 1;
                text(b, at(place, n), kN + (n == labels(b) ? 0 : 1)) = 1;
              }
            }
            TaskBatch batch{.in = {}, .labels = labels.data};
            batch.in.set("text", text.data);
            return batch;
          }};
}

Task word_then_character() {
  return {.name = "word, then character",
          .parts = {.mechanism = "via-attention", .score = "general"},
          .inputs = {{.name = "text", .dim = 2 * kN}, {.name = "characters", .dim = 2 * kN}},
          .query_dim = kN,
          .batch = [](std::int64_t B, Random& random) {
            Tokens words(B, kN, 2 * kN), characters(B, kN, 2 * kN), query(B, 1, kN);
            Labels labels(B);
            for (std::int64_t b = 0; b < B; ++b) {
              const auto named = fill_memory(words, b, random),
                         symbols = fill_memory(characters, b, random);
              const std::int64_t asked = draw(random, kN);
              query(b, 0, asked) = 1;
              labels(b) = at(symbols, at(named, asked));
            }
            TaskBatch batch{.in = {}, .labels = labels.data};
            batch.in.set("text", words.data);
            batch.in.set("characters", characters.data);
            batch.in.query = query.data.squeeze(1);
            return batch;
          }};
}

Task embedding_that_knows() {
  return {.name = "embedding that knows",
          .parts = {.mechanism = "meta-embedding", .score = "additive"},
          .inputs = {{.name = "small", .dim = kN + 1}, {.name = "large", .dim = kN + 3}},
          .query_dim = 0,
          .batch = [](std::int64_t B, Random& random) {
            constexpr std::int64_t kWords = 4;
            Tokens small(B, kWords, kN + 1), large(B, kWords, kN + 3);
            Labels labels(B);
            for (std::int64_t b = 0; b < B; ++b) {
              labels(b) = draw(random, kN);
              for (std::int64_t n = 0; n < kWords; ++n) {
                const bool small_knows = draw(random, 2) == 0;
                (small_knows ? small : large)(b, n, labels(b)) = 1;
                (small_knows ? small : large)(b, n, kN) = 1;  // the mark of a known word
                (small_knows ? large : small)(b, n, draw(random, kN)) = 4;
              }
            }
            TaskBatch batch{.in = {}, .labels = labels.data};
            batch.in.set("small", small.data);
            batch.in.set("large", large.data);
            return batch;
          }};
}

Task opinion_on_target() {
  constexpr std::int64_t kWide = kN + 2;
  return {.name = "opinions on target",
          .parts = {.mechanism = "rotatory", .score = "general"},
          .inputs = {{.name = "left", .dim = kWide},
                     {.name = "target", .dim = kN + 1},
                     {.name = "right", .dim = kWide}},
          .query_dim = 0,
          .batch = [](std::int64_t B, Random& random) {
            Tokens left(B, kN, kWide), right(B, kN, kWide), target(B, 2, kN + 1);
            Labels labels(B);
            for (std::int64_t b = 0; b < B; ++b) {
              const std::int64_t about = draw(random, kN);
              target(b, draw(random, 2), about) = 1;
              for (Tokens* side : {&left, &right}) {
                // Half of the categories are praised.
                const auto place = permutation(random, kN), opinions = permutation(random, kN);
                for (std::int64_t n = 0; n < kN; ++n) {
                  (*side)(b, at(place, n), n) = 1;
                  (*side)(b, at(place, n), kN + at(opinions, n) % 2) = 1;
                }
                labels(b) = 2 * labels(b) + at(opinions, about) % 2;
              }
            }
            TaskBatch batch{.in = {}, .labels = labels.data};
            batch.in.set("left", left.data);
            batch.in.set("target", target.data);
            batch.in.set("right", right.data);
            return batch;
          }};
}

namespace {

// A first text that names a token of the second, which is a memory.
Task matched(const std::string& name, PartSpec mechanism,
             const std::function<void(Tokens&, std::int64_t, std::int64_t, Random&)>& fill_first) {
  return {.name = name,
          .parts = {.mechanism = std::move(mechanism), .score = "general"},
          .inputs = {{.name = "text", .dim = kN + 1}, {.name = "notes", .dim = 2 * kN}},
          .query_dim = 0,
          .batch = [=](std::int64_t B, Random& random) {
            Tokens text(B, 6, kN + 1), notes(B, kN, 2 * kN);
            Labels labels(B);
            for (std::int64_t b = 0; b < B; ++b) {
              const auto symbols = fill_memory(notes, b, random);
              const std::int64_t named = draw(random, kN);
              fill_first(text, b, named, random);
              labels(b) = at(symbols, named);
            }
            TaskBatch batch{.in = {}, .labels = labels.data};
            batch.in.set("text", text.data);
            batch.in.set("notes", notes.data);
            return batch;
          }};
}

}  // namespace

Task salient_then_matched() {
  return matched("salient, then matched", "co.alternating",
                 [](Tokens& text, std::int64_t b, std::int64_t named, Random& random) {
                   for (std::int64_t n = 0; n < 6; ++n) text(b, n, draw(random, kN)) = 1;
                   const std::int64_t salient = draw(random, 6);
                   for (std::int64_t d = 0; d < kN; ++d) text(b, salient, d) = 0;
                   text(b, salient, named) = text(b, salient, kN) = 1;
                 });
}

Task topic_then_matched() {
  return matched("topic, then matched", "co.interactive",
                 [](Tokens& text, std::int64_t b, std::int64_t named, Random& random) {
                   for (std::int64_t n = 0; n < 6; ++n)
                     text(b, n, n < 4 ? named : draw(random, kN)) = 1;
                 });
}

Task name_in_both(const std::string& affinity, const std::string& aggregate) {
  constexpr std::int64_t kNames = 2 * kN, kWide = kNames + kN;
  return {
      .name = "name in both, " + affinity + ", " + aggregate,
      .parts = {.mechanism = {"co.parallel", {{"affinity", affinity}, {"aggregate", aggregate}}}},
      .inputs = {{.name = "first", .dim = kWide}, {.name = "second", .dim = kWide}},
      .query_dim = 0,
      .batch = [](std::int64_t B, Random& random) {
        Tokens first(B, kN, kWide), second(B, kN, kWide);
        Labels labels(B);
        for (std::int64_t b = 0; b < B; ++b) {
          const auto names = permutation(random, kNames), symbols = permutation(random, kN),
                     place = permutation(random, kN);
          for (std::int64_t n = 0; n < kN; ++n) {
            first(b, n, at(names, n)) = first(b, n, kNames + at(symbols, n)) = 1;
            // All other names of the second text are in it alone.
            second(b, at(place, n), at(names, n == 0 ? draw(random, kN) : kN + n)) = 1;
          }
          for (std::int64_t n = 0; n < kN; ++n) {
            if (second(b, at(place, 0), at(names, n)) > 0) labels(b) = at(symbols, n);
          }
        }
        TaskBatch batch{.in = {}, .labels = labels.data};
        batch.in.set("first", first.data);
        batch.in.set("second", second.data);
        return batch;
      }};
}

Task marked_sentence(const std::string& encoder) {
  return {.name = "marked sentence, encoder " + encoder,
          .parts = {.mechanism = {"hierarchical", {{"encoder", encoder}}}, .score = "additive"},
          .inputs = {{.name = "text", .dim = kN + 4, .levels = 1}},
          .query_dim = 0,
          .batch = [](std::int64_t B, Random& random) {
            Tokens text(B, 3 * kN, kN + 4);
            Tensor sizes = torch::zeros({B, kN}, torch::kInt64);
            Labels labels(B), lengths(B);
            for (std::int64_t b = 0; b < B; ++b) {
              const auto symbols = permutation(random, kN);
              const std::int64_t marked = draw(random, kN);
              for (std::int64_t s = 0, word = 0; s < kN; ++s) {
                const std::int64_t size = 2 + draw(random, 2), from = word;
                text(b, word++, kN + (s == marked ? 0 : 1)) = 1;
                text(b, word++, at(symbols, s)) = 1;
                for (; word < from + size; ++word) text(b, word, kN + 2 + draw(random, 2)) = 1;
                sizes[b][s] = size;
                lengths(b) = word;
              }
              labels(b) = at(symbols, marked);
            }
            TaskBatch batch{.in = {}, .labels = labels.data};
            batch.in.set("text", text.data, lengths.data, {{.sizes = sizes}});
            return batch;
          }};
}

}  // namespace heed
