#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heed {

/// The pieces of some words. `words[i]` is where word i's pieces stand in `ids`: [begin, end),
/// never empty.
struct Pieces {
  std::vector<std::int64_t> ids;
  std::vector<std::pair<std::size_t, std::size_t>> words;
};

/// BERT's uncased WordPiece tokeniser (Devlin et al. 2019), for words that are already split.
///
/// Each word is cleaned, folded to lower case without accents, split at punctuation and around
/// ideographs, and cut greedily into the longest pieces the vocabulary has. What cannot be cut, or
/// is longer than 100 characters, is [UNK], and so is a word of which nothing is left. Text that
/// is spelt like a special piece ("[SEP]") is text. Which characters are folded: unicode.hpp.
class WordPiece {
 public:
  /// A vocab.txt, one piece a line, numbered from 0; [UNK], [CLS] and [SEP] must be among them.
  /// InputError "FILE:LINE: …" on anything else.
  explicit WordPiece(const std::filesystem::path& vocabulary);

  std::size_t size() const { return pieces_.size(); }
  std::int64_t unknown() const { return unknown_; }
  std::int64_t start() const { return start_; }  ///< [CLS]
  std::int64_t end() const { return end_; }      ///< [SEP]

  /// The pieces of the words, without [CLS] and [SEP].
  Pieces pieces(std::span<const std::string> words) const;
  /// As `pieces`, cut between words into runs of at most `limit` pieces, [CLS] and [SEP] at both
  /// ends of each included (limit ≥ 3). A word that is longer by itself loses its end.
  std::vector<Pieces> runs(std::span<const std::string> words, std::size_t limit) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  void add_word(std::string_view word, std::vector<std::int64_t>& ids) const;
  void add_token(std::span<const std::string> letters, std::vector<std::int64_t>& ids) const;
  std::int64_t special(const std::string& piece, const std::filesystem::path& file) const;

  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> pieces_;
  std::int64_t unknown_ = 0, start_ = 0, end_ = 0;
};

}  // namespace heed
