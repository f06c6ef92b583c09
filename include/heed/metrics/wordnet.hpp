#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed::metrics {

/// A set of words with one meaning, by its place in WordNet's files.
struct Synset {
  std::size_t part = 0;  ///< 0 noun, 1 verb, 2 adjective, 3 adverb
  std::size_t offset = 0;
  auto operator<=>(const Synset&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14
};

/// Princeton WordNet's database files (Debian: wordnet-base), read into memory and searched there:
/// index.*, data.* and *.exc of the four parts of speech.
class WordNet {
 public:
  /// InputError when a file is missing or is no WordNet file.
  explicit WordNet(const std::filesystem::path& folder);

  /// From the folder in the environment's HEED_WORDNET or WNSEARCHDIR, or /usr/share/wordnet;
  /// nothing when none is set and the last does not exist.
  static std::optional<WordNet> find();

  /// All synsets of a word in lower case and of its base forms (WordNet's morphology: exception
  /// lists, else suffix rules), sorted, without repetition.
  std::vector<Synset> synsets(std::string_view word) const;

  /// The words of a synset as they are written there: capitals kept, `_` for spaces, without the
  /// markers of adjectives.
  std::vector<std::string> words(const Synset& synset) const;

  const std::string& version() const { return version_; }  ///< as in "3.0"

 private:
  struct Part {
    std::string index, data, index_name;
    std::map<std::string, std::vector<std::string>, std::less<>> exceptions;
  };
  std::vector<std::size_t> offsets(const Part& part, std::string_view lemma) const;

  std::array<Part, 4> parts_;
  std::string version_;
};

}  // namespace heed::metrics
