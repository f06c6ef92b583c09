// Parallel text: two files, line i of one translates line i of the other.
#include <algorithm>

#include "base/hash.hpp"
#include "data/parts.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/metrics/alignment.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines = split(read_text(file), '\n');
  if (lines.back().empty()) lines.pop_back();
  HEED_CHECK(!lines.empty(), "{}: the file is empty; a sentence a line is needed",
             at_line(file, 1));
  return lines;
}

std::vector<std::string> words_of(const std::string& line, const DataSource& source) {
  return split_words(source.lowercase ? lower(line) : line);
}

std::size_t kept(std::size_t words, const DataSource& source) {
  return source.max_length > 0 ? std::min(words, static_cast<std::size_t>(source.max_length))
                               : words;
}

/// "data/train.en.gz" and "de" → "data/train.de.gz".
fs::path other_side(const fs::path& file, const std::string& ending) {
  const bool packed = file.extension() == ".gz";
  fs::path name = packed ? fs::path(file).replace_extension() : file;
  name.replace_extension(ending);
  return packed ? fs::path(name.string() + ".gz") : name;
}

/// The lines of the file that stands beside this one with the ending the config names for `role`;
/// empty when none is named, or it is neither needed nor there.
std::vector<std::string> beside(const std::string& role, const fs::path& file,
                                const DataSource& source, std::size_t count, bool needed) {
  const auto ending = source.columns.find(role);
  if (ending == source.columns.end()) return {};
  const fs::path other = other_side(file, ending->second);
  if (!needed && !is_there(other)) return {};
  const std::vector<std::string> lines = lines_of(other);
  HEED_CHECK(lines.size() == count,
             "{}: {} lines, and {} has {}; line i of one must belong to line i of the other",
             at_line(other, std::min(lines.size(), count) + 1), lines.size(), file.string(), count);
  return lines;
}

/// Some parts may do without links (often all but the test part); that none has any is a typo.
void check_links(const fs::path& file, const DataSource& source) {
  const auto ending = source.columns.find("links");
  if (ending == source.columns.end()) return;
  const auto has_links = [&](const std::string& part) {
    return !part.empty() && is_there(other_side(find_file(part, source.base), ending->second));
  };
  HEED_CHECK(
      has_links(source.train) || has_links(source.val) || has_links(source.test),
      "{}: no such file, nor is there one beside another part; check [task.columns] links = \"{}\"",
      other_side(file, ending->second).string(), ending->second);
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> parse_links(std::string_view text, LinkRoom room,
                                                             const std::string& where) {
  metrics::Alignment alignment;
  try {
    alignment = metrics::parse_pharaoh(text);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
  HEED_CHECK(alignment.possible.empty(),
             "{}: '{}?{}' is a possible link; to learn from, sure ones are needed: write '-'",
             where, alignment.possible[0].source, alignment.possible[0].target);
  std::vector<std::pair<std::size_t, std::size_t>> links;
  for (const auto& [source, target] : alignment.sure) {
    HEED_CHECK(source < room.text && target < room.target,
               "{}: link {}-{} is outside the {} words of the text and {} of the target; words "
               "count from 0",
               where, source, target, room.text, room.target);
    if (source < room.kept && target < room.kept) links.emplace_back(target, source);
  }
  std::ranges::sort(links);
  return links;
}

void read_parallel(const fs::path& file, const DataSource& source, FileNeeds needs,
                   const TakePlaced& take) {
  HEED_CHECK(!needs.split, "{}: lines of text have no split; give 'train' and 'test' (and 'val')",
             file.string());
  const std::vector<std::string> text = lines_of(file);
  HEED_CHECK(source.columns.contains("target") || !needs.label,
             "{}: text in lines needs its other side; name that file's ending, [task.columns] "
             "target = \"de\"",
             file.string());
  const std::vector<std::string> target = beside("target", file, source, text.size(), needs.label);
  if (needs.label) check_links(file, source);
  const std::vector<std::string> links = beside("links", file, source, text.size(), false);
  for (std::size_t i = 0; i < text.size(); ++i) {
    Placed placed{.example = {}, .split = "", .line = i + 1};
    if (needs.shared) {
      placed.hash = hash_text(text[i]);
      if (!target.empty()) placed.hash = hash_text(target[i], placed.hash);
      if (!links.empty()) placed.hash = hash_text(links[i], placed.hash);
      placed.here = source.share.has(i);
    }
    if (!placed.here) {
      take(std::move(placed));
      continue;
    }
    Example& example = placed.example;
    example.inputs["text"] = words_of(text[i], source);
    if (!target.empty()) example.target = words_of(target[i], source);
    HEED_CHECK(!example.inputs["text"].empty(),
               "{}: the line is empty; remove it here and in the other file", at_line(file, i + 1));
    HEED_CHECK(target.empty() || !example.target.empty(),
               "{}: the target is empty; remove the line here and in the other file",
               at_line(other_side(file, source.columns.at("target")), i + 1));
    if (!links.empty() && !target.empty()) {
      const LinkRoom room{.text = example.inputs["text"].size(),
                          .target = example.target.size(),
                          .kept = kept(std::string::npos, source)};
      example.links =
          parse_links(links[i], room, at_line(other_side(file, source.columns.at("links")), i + 1));
    }
    example.inputs["text"].resize(kept(example.inputs["text"].size(), source));
    example.target.resize(kept(example.target.size(), source));
    take(std::move(placed));
  }
}

}  // namespace heed
