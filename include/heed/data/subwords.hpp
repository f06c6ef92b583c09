#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/data/wordpiece.hpp"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace heed {

struct SubwordOptions {
  /// bpe (Sennrich et al. 2016), unigram (Kudo 2018) or characters, the most frequent ones.
  std::string kind = "bpe";
  std::size_t size = 8000;  ///< Pieces, the four specials included; of characters the most.
  double coverage = 1.0;    ///< Share of the characters that get a piece of their own.
  bool counted = false;     ///< A line is a text, a tab and how often it occurs.
};

/// Learns subwords from lines of text and returns the model file's bytes; the same lines and
/// options give the same bytes. Text is not normalised: what is encoded is what is decoded, save
/// that runs of spaces are one. InputError when the text is too small for that many pieces.
std::string train_subwords(std::span<const std::string> lines, const SubwordOptions& options = {});

/// A SentencePiece model (Kudo & Richardson 2018). Those we train number padding 0 and the unknown
/// piece 1, as Vocabulary does, then the beginning and the end of a sentence.
class Subwords {
 public:
  static constexpr std::int64_t kPadding = 0, kUnknown = 1, kBegin = 2, kEnd = 3;

  /// `source` is named in the InputError that a damaged model gives.
  Subwords(std::string_view model, std::string_view source);
  static Subwords load(const std::filesystem::path& file);
  Subwords(Subwords&&) noexcept;
  Subwords& operator=(Subwords&&) noexcept;
  ~Subwords();

  std::size_t size() const;
  /// As written in the model: "▁" marks the start of a word. 0 ≤ id < size(), else InputError.
  std::string piece(std::int64_t id) const;
  bool starts_word(std::int64_t id) const;

  /// No beginning, no end; unknown characters are kUnknown of the model.
  std::vector<std::int64_t> encode(std::string_view text) const;
  /// The pieces of each word: as `encode` of the words between spaces, with their places. A word
  /// of which nothing is left is one unknown piece.
  Pieces encode_words(std::span<const std::string> words) const;
  /// Text again; specials give nothing, the unknown piece " ⁇ ".
  std::string decode(std::span<const std::int64_t> ids) const;

 private:
  std::unique_ptr<sentencepiece::SentencePieceProcessor> model_;
};

}  // namespace heed
