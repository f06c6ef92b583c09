// Parallel text: two files, line i of one translates line i of the other.
#include "data/gzip.hpp"
#include "data/parts.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& file) {
  const std::string bytes = read_unpacked(file);
  std::vector<std::string> lines = split(bytes, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (std::size_t i = 0; i < lines.size(); ++i)
    HEED_CHECK(!invalid_utf8(lines[i]), "{}: not UTF-8; convert the file", at_line(file, i + 1));
  HEED_CHECK(!lines.empty(), "{}: the file is empty", at_line(file, 1));
  return lines;
}

std::vector<std::string> words_of(const std::string& line, const DataSource& source) {
  std::vector<std::string> words = split_words(source.lowercase ? lower(line) : line);
  if (source.max_length > 0)
    words.resize(std::min(words.size(), static_cast<std::size_t>(source.max_length)));
  return words;
}

/// "data/train.en.gz" and "de" → "data/train.de.gz".
fs::path other_side(const fs::path& file, const std::string& ending) {
  const bool packed = file.extension() == ".gz";
  fs::path name = packed ? fs::path(file).replace_extension() : file;
  name.replace_extension(ending);
  return packed ? fs::path(name.string() + ".gz") : name;
}

}  // namespace

bool is_table(const fs::path& file) {
  const std::string ending = format_ending(file);
  return ending == ".tsv" || ending == ".csv" || ending == ".jsonl" || ending == ".ndjson";
}

std::vector<Placed> read_parallel(const fs::path& file, const DataSource& source, FileNeeds needs) {
  HEED_CHECK(!needs.split, "{}: lines of text have no split; give 'train' and 'test' (and 'val')",
             file.string());
  const std::vector<std::string> text = lines_of(file);
  const auto ending = source.columns.find("target");
  HEED_CHECK(ending != source.columns.end() || !needs.label,
             "{}: text in lines needs its other side; name that file's ending, [task.columns] "
             "target = \"de\"",
             file.string());
  std::vector<std::string> target;
  if (ending != source.columns.end()) {
    const fs::path other = other_side(file, ending->second);
    if (needs.label || fs::exists(other)) {
      target = lines_of(other);
      HEED_CHECK(target.size() == text.size(), "{}: {} lines, and {} has {}; they must agree",
                 at_line(other, std::min(target.size(), text.size()) + 1), target.size(),
                 file.string(), text.size());
    }
  }
  std::vector<Placed> examples;
  for (std::size_t i = 0; i < text.size(); ++i) {
    Placed placed{.example = {}, .split = "", .line = i + 1};
    placed.example.inputs["text"] = words_of(text[i], source);
    HEED_CHECK(!placed.example.inputs["text"].empty(),
               "{}: the line is empty; remove it here and "
               "in the other file",
               at_line(file, i + 1));
    if (!target.empty()) placed.example.target = words_of(target[i], source);
    HEED_CHECK(target.empty() || !placed.example.target.empty(),
               "{}: the target is empty; remove the line in both files", at_line(file, i + 1));
    examples.push_back(std::move(placed));
  }
  return examples;
}

}  // namespace heed
