// Stories with questions: the format of the bAbI tasks (Weston et al. 2015).
#include <algorithm>
#include <charconv>

#include "base/hash.hpp"
#include "data/parts.hpp"
#include "data/stories.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

/// What one line of the file says: "3 Mary moved to the hall.", or a question with its answer and
/// the numbers of the lines that support it, separated by tabs.
struct StoryLine {
  std::size_t number = 0;
  std::vector<std::string> words;
  std::string answer;  // empty: not a question
  std::vector<std::size_t> support;
};

std::size_t parse_line_number(std::string_view text, const std::string& where) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  HEED_CHECK(error == std::errc() && end == text.data() + text.size() && number > 0,
             "{}: '{}' where the number of a line is needed, as in '1 Mary moved to the hall.'",
             where, text);
  return number;
}

/// Words without the marks that end a sentence.
std::vector<std::string> story_words(std::string_view text, bool lowercase) {
  std::vector<std::string> words = split_words(lowercase ? lower(text) : std::string(text));
  for (std::string& word : words) {
    while (!word.empty() && (word.back() == '.' || word.back() == '?')) word.pop_back();
  }
  std::erase(words, "");
  return words;
}

/// True for what must be a question, though nothing behind a tab says so.
bool asks(std::string_view text) {
  return std::ranges::any_of(split_words(text),
                             [](const std::string& word) { return word.ends_with('?'); });
}

StoryLine parse_story_line(std::string_view text, const DataSource& source,
                           const std::string& where) {
  const std::vector<std::string> cells = split(text, '\t');
  const std::size_t space = std::min(cells[0].find(' '), cells[0].size());
  StoryLine line{.number = parse_line_number(cells[0].substr(0, space), where),
                 .words = story_words(std::string_view(cells[0]).substr(space), source.lowercase)};
  HEED_CHECK(!line.words.empty(), "{}: the sentence is empty; fill it in or remove the line",
             where);
  HEED_CHECK(cells.size() <= 3,
             "{}: {} columns; a question has two tabs, before its answer and before its support",
             where, cells.size());
  if (cells.size() > 1) line.answer = std::string(trim(cells[1]));
  HEED_CHECK(!line.answer.empty() || (cells.size() == 1 && !asks(cells[0])),
             "{}: the question has no answer; it stands behind a tab, and its support behind "
             "another",
             where);
  if (cells.size() == 1) return line;
  for (const std::string& number : split_words(cells.size() > 2 ? cells[2] : ""))
    line.support.push_back(parse_line_number(number, where));
  return line;
}

/// The sentences so far, and a question about them.
Example to_example(std::span<const StoryLine> story, const StoryLine& question,
                   const std::string& where, const DataSource& source) {
  Example example;
  example.label = question.answer;
  example.inputs["question"] = question.words;
  for (const std::size_t number : question.support) {
    const bool told =
        std::ranges::any_of(story, [&](const StoryLine& line) { return line.number == number; });
    HEED_CHECK(told,
               "{}: line {} supports the answer, but there is no such sentence before it; give the "
               "numbers of its story's sentences",
               where, number);
  }
  std::vector<Sentence> sentences;
  for (const StoryLine& line : story) {
    const bool supports =
        std::ranges::find(question.support, line.number) != question.support.end();
    sentences.push_back({.words = line.words, .gold = supports ? 1.0f : 0.0f});
  }
  set_story(example, "story", sentences, static_cast<std::size_t>(source.max_length));
  if (question.support.empty()) example.gold.clear();
  return example;
}

}  // namespace

void set_story(Example& example, const std::string& name, std::span<const Sentence> sentences,
               std::size_t max_length) {
  std::size_t first = sentences.size(), kept = 0;
  while (first > 0 && (max_length == 0 || kept + sentences[first - 1].words.size() <= max_length))
    kept += sentences[--first].words.size();
  std::vector<std::int64_t> lengths;
  const auto add = [&](std::span<const std::string> some, float gold) {
    auto& words = example.inputs[name];
    words.insert(words.end(), some.begin(), some.end());
    example.gold[name].insert(example.gold[name].end(), some.size(), gold);
    lengths.push_back(static_cast<std::int64_t>(some.size()));
  };
  for (const Sentence& sentence : sentences.subspan(first)) add(sentence.words, sentence.gold);
  if (lengths.empty() && !sentences.empty())
    add(std::span(sentences.back().words).last(max_length), sentences.back().gold);
  example.levels[name] = {std::move(lengths)};
}

void read_babi(const std::filesystem::path& file, const DataSource& source, FileNeeds needs,
               const TakePlaced& take) {
  HEED_CHECK(
      !needs.split,
      "{}:1: a file of stories has no split column; give 'train' and 'test' instead of 'data'",
      file.string());
  std::vector<StoryLine> story;
  std::size_t number = 0, last = 0, stories = 0, questions = 0;  // last: the number a line gave
  std::uint64_t hash = hash_text("");
  for (const std::string& raw : split(read_text(file), '\n')) {
    ++number;
    std::string_view line = raw;
    if (line.ends_with('\r')) line.remove_suffix(1);  // a tab at the end tells
    if (trim(line).empty()) continue;
    const std::string where = at_line(file, number);
    hash = hash_text(line, hash);
    StoryLine parsed = parse_story_line(line, source, where);
    if (parsed.number == 1) {
      story.clear();
      ++stories;
    }
    HEED_CHECK(parsed.number == 1 || parsed.number == last + 1,
               "{}: line {} of a story where {} comes next; number its sentences and questions 1, "
               "2, 3 …",
               where, parsed.number, last + 1);
    last = parsed.number;
    if (parsed.answer.empty()) {
      story.push_back(std::move(parsed));
      continue;
    }
    HEED_CHECK(!story.empty(), "{}: a question without a story before it; begin with its sentences",
               where);
    Placed placed{.example = to_example(story, parsed, where, source), .line = number};
    placed.here = source.share.has(questions++) || !needs.shared;
    placed.hash = hash;
    placed.example.group = fmt::format("story {}", stories);
    take(std::move(placed));
  }
  HEED_CHECK(questions > 0,
             "{}:1: there is no question in this file; its answer stands behind a tab",
             file.string());
}

}  // namespace heed
