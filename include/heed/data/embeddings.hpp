#pragma once
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/data/word_table.hpp"

namespace heed {

class MappedFile;

/// Published word vectors.
struct Embeddings {
  std::vector<std::string> words;
  torch::Tensor vectors;     ///< [words, width] float32
  std::size_t repeated = 0;  ///< Words that came again in the file; the first of each is kept.
  std::shared_ptr<const MappedFile> file{};  ///< Whose memory the vectors are; null: their own.
};

/// Reads word vectors, by the file's ending: our own .safetensors (save_embeddings), wink's .json,
/// or GloVe's text under any other name, gzip or not; or a folder whose package.json names one of
/// these as its "main". Mistakes are InputErrors "FILE:LINE: …" (word_table.hpp).
Embeddings load_embeddings(const std::filesystem::path& path, const WordTableOptions& options = {});

/// A safetensors file with "vectors" [words, width] F32 and "words", U8: the words in UTF-8, a line
/// end after each. wink's 341479 words load in 0.6 s instead of 8.5.
void save_embeddings(const std::filesystem::path& path, const Embeddings& embeddings);

/// How much of a list of words has a vector.
struct Coverage {
  std::size_t words = 0, exact = 0, by_stand_in = 0;
  std::vector<std::string> missing;  ///< In the order given.
};

/// Finds the vector of a word, or of what stands for it (stand_ins).
class EmbeddingIndex {
 public:
  explicit EmbeddingIndex(Embeddings embeddings);
  std::int64_t width() const { return embeddings_.vectors.size(1); }
  /// [width], the mean of its stand-ins; undefined when nothing is known of the word.
  torch::Tensor embedding_for(std::string_view word) const;
  torch::Tensor mean() const { return embeddings_.vectors.mean(0); }  ///< Of all words, [width].
  Coverage cover(std::span<const std::string> words) const;
  /// Gives back the memory of vectors that were looked at, where a file has them.
  void rest() const;

 private:
  std::string_view word(std::int32_t row) const {
    return embeddings_.words[static_cast<std::size_t>(row)];
  }
  std::int64_t find(std::string_view wanted) const;  ///< Its row, -1: none.
  std::vector<std::int64_t> rows(std::string_view word) const;

  Embeddings embeddings_;
  std::vector<std::int32_t> order_;  // rows by word: a hash table would take ten times as much
};

}  // namespace heed
