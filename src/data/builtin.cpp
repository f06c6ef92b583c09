// The corpora that need no download.
#include <algorithm>
#include <charconv>

#include "data/graphs.hpp"
#include "data/images.hpp"
#include "data/parts.hpp"
#include "data/recommend.hpp"
#include "data/text_corpora.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/data/geometry.hpp"
#include "heed/data/language.hpp"
#include "heed/data/reviews.hpp"

namespace heed {
namespace {

struct Corpus {
  std::string name, kind;
  std::function<Dataset(const CorpusOptions&)> make;
  std::string option = {};  // besides size and seed: n or reverse
};

/// A corpus a line. A name may serve several kinds.
const std::vector<Corpus>& corpora() {
  static const std::vector<Corpus> all = {
      {"reviews", "classify", reviews},
      {"graph", "graph", community_graph},
      {"hetgraph", "graph", relations_graph},
      {"shapes", "image", shapes},
      {"video", "image", video},
      {"crowd", "count", crowd},
      {"recommend", "recommend", tastes},
      {"reviews", "aspect", aspect_reviews},
      {"reviews", "document", review_documents},
      {"statements", "pair", statement_pairs},
      {"stories", "answer", stories},
      {"translate", "translate", language, "reverse"},
      {"phonemes", "translate", phonemes},
      {"dialogue", "document", dialogue},
      {"dialogue", "translate", dialogue},
      {"hull", "point", hull, "n"},
      {"tsp", "point", tsp, "n"},
      {"sort", "point", sort, "n"},
  };
  return all;
}

std::uint64_t parse_option(std::string_view text, const std::string& data) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  HEED_CHECK(error == std::errc() && end == text.data() + text.size() && !text.empty(),
             "{}: '{}' is not a whole number", data, text);
  return value;
}

CorpusOptions parse_options(const std::string& data, std::size_t question,
                            const std::string& more) {
  std::vector<std::string> names = {"size", "seed"};
  if (!more.empty()) names.push_back(more);
  CorpusOptions options;
  if (question >= data.size()) return options;
  for (const std::string& option : split(std::string_view(data).substr(question + 1), '&')) {
    const std::size_t equals = std::min(option.find('='), option.size());
    const std::string key = option.substr(0, equals);
    HEED_CHECK(std::ranges::find(names, key) != names.end(), "{}: no option '{}'{}", data, key,
               suggestion(key, names));
    const std::uint64_t number =
        parse_option(equals < option.size() ? option.substr(equals + 1) : "", data);
    if (key == "seed") {
      options.seed = number;
      continue;
    }
    if (key == "reverse") {
      HEED_CHECK(number <= 1, "{}: reverse is {}; 0 or 1 is needed", data, number);
      options.reverse = number == 1;
      continue;
    }
    if (key == "n") {
      HEED_CHECK(number >= 2 && number <= 1000, "{}: n is {}; 2 to 1000 is needed", data, number);
      options.n = number;
      continue;
    }
    HEED_CHECK(number >= 1 && number <= 1'000'000, "{}: size is {}; 1 to 1000000 is needed", data,
               number);
    options.train = number;
    options.val = std::max<std::size_t>(2, number / 8);
    options.test = std::max<std::size_t>(2, number / 4);
  }
  return options;
}

const Corpus& find_corpus(const DataSource& source, const std::string& name) {
  std::vector<std::string> names, kinds;
  for (const Corpus& corpus : corpora()) {
    if (corpus.name == name && corpus.kind == source.kind) return corpus;
    names.push_back(corpus.name);
    if (corpus.name == name) kinds.push_back(corpus.kind);
  }
  HEED_CHECK(!kinds.empty(), "{}: no built-in corpus '{}'{}", source.data, name,
             suggestion(name, names));
  throw InputError(fmt::format("{}: this corpus is for kind {}, the task is of kind '{}'",
                               source.data, join(kinds, ", "), source.kind));
}

void shorten(std::vector<Example>& examples, std::size_t length) {
  for (Example& example : examples) {
    for (auto& [name, tokens] : example.inputs) tokens.resize(std::min(tokens.size(), length));
    for (auto& [name, weights] : example.gold) weights.resize(std::min(weights.size(), length));
  }
}

}  // namespace

Dataset load_builtin(const DataSource& source) {
  constexpr std::size_t kPrefix = std::string_view("builtin:").size();
  const std::size_t question = std::min(source.data.find('?'), source.data.size());
  const Corpus& corpus = find_corpus(source, source.data.substr(kPrefix, question - kPrefix));
  Dataset data = corpus.make(parse_options(source.data, question, corpus.option));
  if (source.max_length == 0) return data;
  HEED_CHECK(source.kind == "classify", "{}: max_length cuts texts of kind 'classify' only",
             source.data);
  for (auto* part : {&data.train, &data.val, &data.test})
    shorten(*part, static_cast<std::size_t>(source.max_length));
  return data;
}

}  // namespace heed
