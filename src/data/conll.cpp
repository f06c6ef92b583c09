// Word-a-line files: a sentence a block, blank lines between, columns of a word between tabs or
// spaces (CoNLL-2003, CoNLL-U and their kin).
#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "data/parts.hpp"
#include "data/table.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

using Words = std::vector<std::string>;

/// One sentence: its words' cells, and what comments say of it.
struct Block {
  std::size_t line = 0;  // where it starts
  std::vector<Words> words;
  std::vector<std::size_t> lines;               // of the words
  std::map<std::string, std::string> notes;     // "# key = value"
  std::map<std::string, std::size_t> repeated;  // keys of notes that came again, and where
};

/// The names of CoNLL-U's columns; other files may name theirs, "# global.columns = FORM TAG".
const Words& standard_columns() {
  static const Words names = {"ID",    "FORM", "LEMMA",  "UPOS", "XPOS",
                              "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};
  return names;
}

/// A token that stands for several, "3-4", or for none, "5.1": the words themselves are given too.
bool is_extra(const std::string& id) {
  const std::size_t sign = id.find_first_of("-.");
  return sign != id.npos && sign > 0 && sign + 1 < id.size() && std::ranges::all_of(id, [](char c) {
           return (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

/// The columns of a word, between tabs if there are any.
Words cells_of(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.find('\t') == line.npos ? split_words(line) : split(line, '\t');
}

/// Tags of spans (O, B-X, I-X) mark what is inside; a number is itself.
std::string marked(const std::string& tag) {
  if (tag == "O" || tag == "_") return "0";
  return tag.find('-') == 1 ? "1" : tag;
}

class ConllReader {
 public:
  ConllReader(const std::filesystem::path& file, bool universal) : file_(file) {
    if (universal) names_ = standard_columns();
  }

  void read(std::string_view text, std::span<const Column> wanted, const TakeRow& take) {
    std::size_t number = 0;
    const Words lines = split(text, '\n');
    look_at_first_row(lines);
    for (const std::string& whole : lines) {
      const std::string line(trim(whole));
      ++number;
      if (line.empty()) {
        finish(wanted, take);
      } else if (block_.words.empty() && is_comment(line)) {
        note(line.substr(1), number);
      } else if (!line.starts_with("-DOCSTART-")) {
        add(whole, number);
      }
    }
    finish(wanted, take);
  }

 private:
  void look_at_first_row(const Words& lines) {
    const auto row = std::ranges::find_if(lines, [](const std::string& whole) {
      const std::string_view line = trim(whole);
      return !line.empty() && !line.starts_with('#') && !line.starts_with("-DOCSTART-");
    });
    if (row == lines.end()) return;
    width_ = cells_of(*row).size();
    tabs_ = row->find('\t') != row->npos;
  }

  /// Of a line above a sentence's words. A first word may be '#': a comment has a key and a value,
  /// or is no row by its columns.
  bool is_comment(const std::string& line) const {
    if (!line.starts_with("# ")) return false;
    const std::size_t equals = std::min(line.find('='), line.size());
    const bool keyed = equals < line.size() && !trim(line.substr(1, equals - 1)).empty();
    const bool tabs = line.find('\t') != line.npos;
    return keyed || tabs != tabs_ || cells_of(line).size() != width_;
  }

  void note(const std::string& text, std::size_t number) {
    if (block_.line == 0) block_.line = number;
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return;
    const std::string key(trim(std::string_view(text).substr(0, equals)));
    const std::string value(trim(std::string_view(text).substr(equals + 1)));
    if (key == "global.columns") names_ = split_words(value);
    if (!block_.notes.emplace(key, value).second) block_.repeated.emplace(key, number);
  }

  void add(std::string_view line, std::size_t number) {
    Words cells = cells_of(line);
    if (block_.line == 0) block_.line = number;
    if (!names_.empty() && names_.front() == "ID" && is_extra(cells.front())) return;
    const std::size_t before = block_.words.empty() ? cells.size() : block_.words.front().size();
    HEED_CHECK(cells.size() == before,
               "{}: {} columns, the sentence's first word has {}; check the separators",
               at_line(file_, number), cells.size(), before);
    block_.words.push_back(std::move(cells));
    block_.lines.push_back(number);
  }

  /// The place of a column that is named or numbered from 1; none: it is neither.
  std::optional<std::size_t> place_of(const std::string& name) const {
    const auto named = std::ranges::find(names_, name);
    if (named != names_.end()) return static_cast<std::size_t>(named - names_.begin());
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size() || number == 0) return {};
    return number - 1;
  }

  /// What a column says of the sentence: a note, or the column's words. Of what a sentence has one
  /// of, its first word tells.
  std::optional<std::string> cell(const Block& block, const Column& column) const {
    if (const auto note = block.notes.find(column.name); note != block.notes.end()) {
      const auto again = block.repeated.find(column.name);
      HEED_CHECK(again == block.repeated.end(),
                 "{}: a second comment '# {} = …' above one sentence; keep one",
                 at_line(file_, again->second), column.name);
      return note->second;
    }
    const auto place = place_of(column.name);
    if (!place || *place >= block.words.front().size()) return {};
    if (column.role == "label" || column.role == "split" || column.role == "id")
      return block.words.front()[*place];
    Words values;
    for (std::size_t word = 0; word < block.words.size(); ++word)
      values.push_back(value(block, word, *place, column));
    return join(values, " ");
  }

  /// One word's share of a column. What is wrong with it is said here, where its line is known.
  std::string value(const Block& block, std::size_t word, std::size_t place,
                    const Column& column) const {
    const std::string& text = block.words[word][place];
    HEED_CHECK(!trim(text).empty(), "{}: the {} of this word is empty; fill it in",
               at_line(file_, block.lines[word]), column.name);
    if (column.role != "rationale") return text;
    parse_weights(marked(text), 1, at_line(file_, block.lines[word]), "the tag");
    return marked(text);
  }

  void finish(std::span<const Column> wanted, const TakeRow& take) {
    const Block block = std::exchange(block_, {});
    if (block.words.empty()) return;
    Row row{.line = block.line, .cells = {}};
    for (const Column& column : wanted) {
      row.cells.push_back(cell(block, column));
      HEED_CHECK(row.cells.back() || !column.required,
                 "{}: nothing is called '{}' for the {}; [task.columns] needs a column's number "
                 "from 1, its name, or the key of a comment '# {} = …'",
                 at_line(file_, block.line), column.name, column.role, column.role);
    }
    take(std::move(row));
  }

  const std::filesystem::path& file_;
  Words names_;
  std::size_t width_ = 0;  // columns of the file's first row
  bool tabs_ = false;      // between them
  Block block_;
};

}  // namespace

void read_conll(std::string_view text, const std::filesystem::path& file,
                std::span<const Column> wanted, bool universal, const TakeRow& take) {
  ConllReader(file, universal).read(text, wanted, take);
}

}  // namespace heed
