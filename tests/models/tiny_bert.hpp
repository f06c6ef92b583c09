#pragma once
// A BERT encoder of two layers, whose weights are a formula.
#include <cmath>
#include <map>

#include "data/scratch.hpp"
#include "heed/attention/tensor.hpp"
#include "heed/data/safetensors.hpp"

namespace heed::testing {

inline constexpr const char* kTinyConfig =
    R"({"model_type": "bert", "vocab_size": 12, "hidden_size": 8,
  "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
  "max_position_embeddings": 16, "layer_norm_eps": 1e-12, "hidden_act": "gelu"})";
inline constexpr const char* kTinyVocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n##c\nd\ne\n##e\n";

/// Names and shapes of a BERT of the sizes above; the map's order is the alphabet's.
inline std::map<std::string, std::vector<std::int64_t>> tiny_shapes() {
  std::map<std::string, std::vector<std::int64_t>> shapes = {
      {"embeddings.word_embeddings.weight", {12, 8}},
      {"embeddings.position_embeddings.weight", {16, 8}},
      {"embeddings.token_type_embeddings.weight", {2, 8}}};
  const auto pair = [&](const std::string& name, std::vector<std::int64_t> weight) {
    shapes[name + ".bias"] = {weight[0]};
    shapes[name + ".weight"] = std::move(weight);
  };
  pair("embeddings.LayerNorm", {8});
  for (const std::string layer : {"encoder.layer.0.", "encoder.layer.1."}) {
    for (const char* part : {"query", "key", "value"}) {
      pair(fmt::format("{}attention.self.{}", layer, part), {8, 8});
    }
    pair(layer + "attention.output.dense", {8, 8});
    pair(layer + "attention.output.LayerNorm", {8});
    pair(layer + "intermediate.dense", {16, 8});
    pair(layer + "output.dense", {8, 16});
    pair(layer + "output.LayerNorm", {8});
  }
  return shapes;
}

/// Weights by a formula: tensor i of the alphabet, element j, is sin(0.7 i + 0.37 j) / 2, and 1
/// more where it scales a norm.
inline std::vector<std::pair<std::string, Tensor>> tiny_weights() {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, shape] : tiny_shapes()) {
    Tensor values = torch::empty(shape);
    float* data = values.data_ptr<float>();
    const double start = 0.7 * static_cast<double>(tensors.size());
    for (std::int64_t j = 0; j < values.numel(); ++j) {
      data[j] = static_cast<float>(0.5 * std::sin(start + 0.37 * static_cast<double>(j)) +
                                   (name.ends_with("LayerNorm.weight") ? 1 : 0));
    }
    tensors.emplace_back(name, values);
  }
  return tensors;
}

/// A folder with the tiny model.
struct TinyModel {
  Scratch scratch;
  TinyModel() {
    scratch.write("config.json", kTinyConfig);
    scratch.write("vocab.txt", kTinyVocabulary);
    write_safetensors(folder() / "model.safetensors", tiny_weights());
  }
  const std::filesystem::path& folder() const { return scratch.folder(); }
};

}  // namespace heed::testing
