#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heed/data/dataset.hpp"

namespace heed {

/// How often each word occurs.
using WordCounts = std::map<std::string, std::int64_t>;

/// The words of all inputs.
WordCounts count_words(std::span<const Example> examples);
/// The words of the answers.
WordCounts count_targets(std::span<const Example> examples);

struct VocabularyOptions {
  std::int64_t min_count = 1;
  std::size_t max_size = 0;  ///< Words kept, the two specials not counted; 0 = all.
};

/// Words and their numbers: 0 is padding, 1 the unknown word, then the words by falling frequency,
/// equal ones by alphabet (bytes).
///
/// Text never yields 0: a token spelt "<pad>" or "<unk>" is a word like any other.
class Vocabulary {
 public:
  static constexpr std::int64_t kPadding = 0;
  static constexpr std::int64_t kUnknown = 1;

  Vocabulary() = default;  ///< Only the two specials.
  /// In the order given, from id 2; InputError when a word comes twice or is not UTF-8.
  explicit Vocabulary(std::vector<std::string> words);
  static Vocabulary from_counts(const WordCounts& counts, const VocabularyOptions& options = {});

  std::size_t size() const {
    return words_.size() + 2;
  }                                              ///< Specials included: rows of an embedding.
  std::int64_t id(std::string_view word) const;  ///< kUnknown when it is not known.
  std::vector<std::int64_t> ids(std::span<const std::string> tokens) const;
  /// "<pad>", "<unk>" or the word; 0 ≤ id < size(), else InputError.
  const std::string& word(std::int64_t id) const;

  std::string to_json() const;
  /// `source` is named in the InputError that a damaged text gives.
  static Vocabulary from_json(std::string_view text, std::string_view source);

  bool operator==(const Vocabulary& other) const { return words_ == other.words_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  std::vector<std::string> words_;  // id − 2
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> ids_;
};

}  // namespace heed
