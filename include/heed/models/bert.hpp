#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "heed/attention/tensor.hpp"
#include "heed/data/wordpiece.hpp"

namespace heed {

struct BertConfig {
  std::int64_t layers = 6, width = 384, heads = 12, inner = 1536;
  std::int64_t vocabulary = 30522, positions = 512;
  double eps = 1e-12;
  double dropout = 0;  ///< Of embeddings, attention weights and layers, in training.
};

/// One layer: attention, then two linear maps with GELU between; each is added and normalised after
/// (post-norm). Attention runs on sequences of different lengths without padding (attend_packed).
class BertLayer : public torch::nn::Module {
 public:
  explicit BertLayer(const BertConfig& config);
  Tensor forward(const Tensor& x, const Tensor& offsets);
  /// Calls `visit(name, weight)` for each of its weights, by BERT's published names.
  template <class Visit>
  void visit(const Visit& visit) const;

 private:
  std::int64_t heads_;
  double dropout_;
  torch::nn::Linear qkv_{nullptr}, out_{nullptr}, inner_{nullptr}, outer_{nullptr};
  torch::nn::LayerNorm norm_attention_{nullptr}, norm_output_{nullptr};
};

/// BERT's encoder (Devlin et al. 2019).
class Bert : public torch::nn::Module {
 public:
  explicit Bert(const BertConfig& config);

  /// `ids` [T], the pieces of S sequences behind each other; `offsets` [S + 1], where each begins,
  /// then T; `kinds` [T], 1 where a piece belongs to the second text of its sequence, undefined:
  /// there is one text each. Returns 1 + layers tensors [T, width]: the embeddings, then what each
  /// layer makes of the one before.
  std::vector<Tensor> forward(const Tensor& ids, const Tensor& offsets, const Tensor& kinds = {});

  /// Reads published weights. InputError names the file and the tensor that is missing or has
  /// another shape.
  void load(const std::filesystem::path& safetensors);
  /// Writes the weights under their published names.
  void save(const std::filesystem::path& safetensors) const;

  const BertConfig& config() const { return config_; }

 private:
  template <class Visit>
  void visit(const Visit& visit) const;

  BertConfig config_;
  // No parameters: the tables stay as published when the layers are fine-tuned. They are half of
  // all weights, and words that training does not meet would be left behind by those it does.
  Tensor words_, places_, kinds_;
  torch::nn::LayerNorm norm_{nullptr};
  std::vector<std::shared_ptr<BertLayer>> layers_;
};

struct TextEncoderOptions {
  std::int64_t layers = -1;  ///< Kept, from the bottom; −1 = all.
  double dropout = 0;        ///< In training.
};

/// A BERT encoder with its tokeniser, from a folder with config.json, model.safetensors and
/// vocab.txt (`heed import minilm`).
class TextEncoder : public torch::nn::Module {
 public:
  using Sentences = std::span<const std::vector<std::string>>;

  /// InputError when a file is missing, damaged, or of another model, or has not so many layers.
  explicit TextEncoder(const std::filesystem::path& folder, const TextEncoderOptions& options = {});

  std::int64_t width() const { return bert_->config().width; }
  std::int64_t layers() const { return bert_->config().layers; }

  /// A vector a word, [words of all sentences, width], in order: the mean of its pieces after the
  /// last layer kept. A sentence longer than the model's positions is encoded in runs of whole
  /// words. Where there are partners, one a sentence, each run is followed by its partner, as the
  /// second text of a pair, which has no vectors of its own, and of which at most half of the
  /// positions are read.
  Tensor word_vectors(Sentences sentences, Sentences partners = {});

  /// As sentence-transformers: the mean of the last layer's pieces, [CLS] and [SEP] included, at
  /// length 1; [sentences, width]. What is beyond the first `pieces` of a sentence is left out.
  Tensor sentence_vectors(Sentences sentences, std::size_t pieces = 256);

  /// Writes the three files of a folder that another encoder can be read from.
  void save(const std::filesystem::path& folder) const;

 private:
  std::filesystem::path folder_;  // where it was read from
  WordPiece tokeniser_;
  std::shared_ptr<Bert> bert_;
};

}  // namespace heed
