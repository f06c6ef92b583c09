#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heed/data/example.hpp"
#include "heed/data/subwords.hpp"
#include "heed/data/vocabulary.hpp"

namespace heed {

/// Cuts the words of examples into subwords, with all that is counted in words.
///
/// A piece is written as SentencePiece writes it: "▁" marks the start of a word, so that pieces
/// joined are the text again. A word with a letter the model does not know stays whole, and is an
/// unknown word to every vocabulary.
class Segmenter {
 public:
  /// `model`: the bytes of a SentencePiece model; `source` is named when they are damaged.
  Segmenter(std::string model, std::string_view source);
  /// Learns pieces from words and how often they occur.
  static std::shared_ptr<const Segmenter> learn(const WordCounts& counts, SubwordOptions options);

  const std::string& model() const { return model_; }
  std::vector<std::string> cut(std::span<const std::string> words) const;
  /// Where each word begins among the pieces, and behind the last where all end.
  std::vector<std::size_t> places(std::span<const std::string> words) const;
  /// Inputs, gold weights, levels, views, the target and its links, all in pieces.
  Example cut(const Example& example) const;
  std::vector<Example> cut(std::vector<Example> examples) const;

 private:
  std::string model_;
  Subwords subwords_;
};

/// The text that tokens stand for: words with spaces between them, pieces with spaces where words
/// start.
std::string written(std::span<const std::string> tokens, const Segmenter* segmenter);

}  // namespace heed
