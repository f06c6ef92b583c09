#include "heed/metrics/wordnet.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"

namespace heed::metrics {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kParts = {"noun", "verb", "adj", "adv"};

using Ending = std::pair<std::string_view, std::string_view>;

// The detachment rules of WordNet's morphy(7), by part of speech.
const std::array<std::vector<Ending>, 4> kEndings = {{
    {{"s", ""},
     {"ses", "s"},
     {"ves", "f"},
     {"xes", "x"},
     {"zes", "z"},
     {"ches", "ch"},
     {"shes", "sh"},
     {"men", "man"},
     {"ies", "y"}},
    {{"s", ""},
     {"ies", "y"},
     {"es", "e"},
     {"es", ""},
     {"ed", "e"},
     {"ed", ""},
     {"ing", "e"},
     {"ing", ""}},
    {{"er", ""}, {"est", ""}, {"er", "e"}, {"est", "e"}},
    {},
}};

std::size_t parse_number(std::string_view text, int base, const std::string& file) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  HEED_CHECK(error == std::errc{} && end == text.data() + text.size(),
             "{}: '{}' where WordNet has a number", file, text);
  return number;
}

std::string_view line_at(std::string_view text, std::size_t start) {
  return text.substr(start, text.find('\n', start) - start);
}

/// The line of a sorted index that begins with `lemma` and a space. The licence on top begins with
/// spaces and sorts before every lemma, so plain bisection works on the whole text.
std::optional<std::string_view> find_line(std::string_view index, std::string_view lemma) {
  std::size_t low = 0, high = index.size();  // starts of lines
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const std::size_t newline =
        middle == 0 ? std::string_view::npos : index.rfind('\n', middle - 1);
    const std::size_t start = newline == std::string_view::npos ? 0 : std::max(low, newline + 1);
    const std::string_view line = line_at(index, start);
    const std::string_view head = line.starts_with(' ') ? "" : line.substr(0, line.find(' '));
    if (head == lemma) return line;
    if (head < lemma) {
      low = std::min(index.size(), start + line.size() + 1);
    } else {
      high = start;
    }
  }
  return std::nullopt;
}

std::string read_version(std::string_view data) {
  const std::string_view head = data.substr(0, 4096);
  constexpr std::string_view kName = "WordNet ";
  for (std::size_t at = 0; (at = head.find(kName, at)) != std::string_view::npos;
       at += kName.size()) {
    const std::size_t start = at + kName.size();
    const std::size_t end = head.find_first_not_of("0123456789.", start);
    if (end != std::string_view::npos && end > start)
      return std::string(head.substr(start, end - start));
  }
  return "unknown";
}

}  // namespace

WordNet::WordNet(const fs::path& folder) {
  for (std::size_t p = 0; p < kParts.size(); ++p) {
    const std::string name(kParts[p]);
    Part& part = parts_[p];
    part.index_name = (folder / ("index." + name)).string();
    part.index = read_file(folder / ("index." + name));
    part.data = read_file(folder / ("data." + name));
    for (const std::string& line : split(read_file(folder / (name + ".exc")), '\n')) {
      std::vector<std::string> forms = split_words(line);
      if (forms.empty()) continue;
      std::string inflected = std::move(forms.front());
      forms.erase(forms.begin());
      part.exceptions[std::move(inflected)] = std::move(forms);
    }
  }
  version_ = read_version(parts_[0].data);
}

std::optional<WordNet> WordNet::find() {
  for (const char* variable : {"HEED_WORDNET", "WNSEARCHDIR"}) {
    if (const char* folder = std::getenv(variable); folder != nullptr && *folder != '\0') {
      return WordNet(folder);
    }
  }
  const fs::path standard = "/usr/share/wordnet";
  if (!fs::exists(standard / "index.noun")) return std::nullopt;
  return WordNet(standard);
}

// An index line: lemma, part, number of synsets, number of pointer kinds, those kinds, number of
// senses, number of ranked senses, then the offsets.
std::vector<std::size_t> WordNet::offsets(const Part& part, std::string_view lemma) const {
  const auto line = lemma.empty() ? std::nullopt : find_line(part.index, lemma);
  if (!line) return {};
  const std::vector<std::string> fields = split_words(*line);
  HEED_CHECK(fields.size() > 4, "{}: '{}' is no WordNet index line", part.index_name, *line);
  const std::size_t count = parse_number(fields[2], 10, part.index_name);
  const std::size_t first = 6 + parse_number(fields[3], 10, part.index_name);
  HEED_CHECK(fields.size() == first + count, "{}: '{}' is no WordNet index line", part.index_name,
             *line);
  std::vector<std::size_t> found;
  for (std::size_t i = first; i < fields.size(); ++i) {
    found.push_back(parse_number(fields[i], 10, part.index_name));
  }
  return found;
}

std::vector<Synset> WordNet::synsets(std::string_view word) const {
  std::vector<Synset> found;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    std::vector<std::string> forms = {std::string(word)};
    if (const auto exception = parts_[p].exceptions.find(word);
        exception != parts_[p].exceptions.end()) {
      forms.insert(forms.end(), exception->second.begin(), exception->second.end());
    } else {
      for (const auto& [ending, base] : kEndings[p]) {
        if (!word.ends_with(ending)) continue;
        forms.push_back(std::string(word.substr(0, word.size() - ending.size())).append(base));
      }
    }
    for (const std::string& form : forms) {
      for (const std::size_t offset : offsets(parts_[p], form)) found.push_back({p, offset});
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// A data line: offset, file number, kind, number of words in hexadecimal, then word and sense
// number alternately.
std::vector<std::string> WordNet::words(const Synset& synset) const {
  const Part& part = parts_.at(synset.part);
  HEED_CHECK(synset.offset < part.data.size(), "{}: points behind the data", part.index_name);
  const std::vector<std::string> fields = split_words(line_at(part.data, synset.offset));
  HEED_CHECK(fields.size() > 3, "{}: points at no synset", part.index_name);
  const std::size_t count = parse_number(fields[3], 16, part.index_name);
  HEED_CHECK(fields.size() >= 4 + 2 * count, "{}: points at no synset", part.index_name);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& word = fields[4 + 2 * i];
    words.push_back(word.ends_with(')') ? word.substr(0, word.rfind('(')) : word);
  }
  return words;
}

}  // namespace heed::metrics
