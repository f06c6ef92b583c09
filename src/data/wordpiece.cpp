#include "heed/data/wordpiece.hpp"

#include <algorithm>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/data/unicode.hpp"

namespace heed {
namespace {

constexpr std::size_t kLongestToken = 100;
constexpr std::string_view kContinues = "##";

/// The word as tokens of folded characters: BERT's "basic" tokenisation.
std::vector<std::vector<std::string>> basic_tokens(std::string_view word) {
  std::vector<std::vector<std::string>> tokens;
  bool open = false;
  for (const char32_t point : unicode::code_points(word)) {
    if (unicode::is_space(point)) open = false;
    if (unicode::is_space(point) || unicode::is_control(point)) continue;
    const char32_t folded = unicode::fold(point);
    if (folded == 0) continue;
    // As in the published tokeniser, what is punctuation is decided after folding.
    const bool alone = unicode::is_punctuation(folded) || unicode::is_ideograph(folded);
    if (alone || !open) tokens.emplace_back();
    unicode::append_utf8(tokens.back().emplace_back(), folded);
    open = !alone;
  }
  return tokens;
}

/// What follows a byte order mark, as some editors write it.
std::string_view without_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

}  // namespace

WordPiece::WordPiece(const std::filesystem::path& vocabulary) {
  const std::string text = read_file(vocabulary);
  std::vector<std::string> lines = split(without_mark(text), '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  HEED_CHECK(!lines.empty(), "{}:1: the file is empty; a piece a line is needed",
             vocabulary.string());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].ends_with('\r')) lines[i].pop_back();
    HEED_CHECK(!lines[i].empty() && !invalid_utf8(lines[i]),
               "{}:{}: a piece in UTF-8 is needed on every line", vocabulary.string(), i + 1);
    const bool fresh = pieces_.emplace(lines[i], static_cast<std::int64_t>(i)).second;
    HEED_CHECK(fresh, "{}:{}: the piece '{}' stands on an earlier line too", vocabulary.string(),
               i + 1, lines[i]);
  }
  unknown_ = special("[UNK]", vocabulary);
  start_ = special("[CLS]", vocabulary);
  end_ = special("[SEP]", vocabulary);
}

std::int64_t WordPiece::special(const std::string& piece, const std::filesystem::path& file) const {
  const auto found = pieces_.find(piece);
  HEED_CHECK(found != pieces_.end(),
             "{}: no piece {}; the vocab.txt of an uncased BERT model is needed", file.string(),
             piece);
  return found->second;
}

void WordPiece::add_token(std::span<const std::string> letters,
                          std::vector<std::int64_t>& ids) const {
  const std::size_t before = ids.size();
  std::size_t begin = letters.size() > kLongestToken ? letters.size() + 1 : 0;
  while (begin < letters.size()) {
    std::string piece(begin == 0 ? "" : kContinues);
    for (std::size_t i = begin; i < letters.size(); ++i) piece += letters[i];
    std::size_t end = letters.size();
    auto found = pieces_.find(piece);
    for (; found == pieces_.end() && end > begin + 1; found = pieces_.find(piece)) {
      piece.resize(piece.size() - letters[--end].size());
    }
    if (found == pieces_.end()) break;
    ids.push_back(found->second);
    begin = end;
  }
  if (begin == letters.size()) return;
  ids.resize(before);  // no piece of a token that cannot be cut as a whole
  ids.push_back(unknown_);
}

void WordPiece::add_word(std::string_view word, std::vector<std::int64_t>& ids) const {
  const auto tokens = basic_tokens(word);
  for (const auto& token : tokens) add_token(token, ids);
  if (tokens.empty()) ids.push_back(unknown_);
}

Pieces WordPiece::pieces(std::span<const std::string> words) const {
  Pieces result;
  for (const std::string& word : words) {
    const std::size_t begin = result.ids.size();
    add_word(word, result.ids);
    result.words.emplace_back(begin, result.ids.size());
  }
  return result;
}

std::vector<Pieces> WordPiece::runs(std::span<const std::string> words, std::size_t limit) const {
  HEED_CHECK(limit >= 3, "wordpiece: runs of {} pieces have no room for a word; 3 is the least",
             limit);
  const Pieces all = pieces(words);
  std::vector<Pieces> runs;
  for (const auto& [begin, end] : all.words) {
    const std::size_t size = std::min(end - begin, limit - 2);
    if (runs.empty() || runs.back().ids.size() + size + 1 > limit) {
      runs.push_back({.ids = {start_}, .words = {}});
    }
    Pieces& run = runs.back();
    const auto from = all.ids.begin() + static_cast<std::ptrdiff_t>(begin);
    run.words.emplace_back(run.ids.size(), run.ids.size() + size);
    run.ids.insert(run.ids.end(), from, from + static_cast<std::ptrdiff_t>(size));
  }
  for (Pieces& run : runs) run.ids.push_back(end_);
  return runs;
}

}  // namespace heed
