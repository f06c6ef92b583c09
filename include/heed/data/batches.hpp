#pragma once
#include <torch/types.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "heed/data/buckets.hpp"
#include "heed/data/dataset.hpp"
#include "heed/data/segmenter.hpp"
#include "heed/data/user_vectors.hpp"
#include "heed/data/vocabulary.hpp"

namespace heed {

/// One input of a batch, padded at the end to its longest example.
struct Padded {
  torch::Tensor ids;      ///< [B, L] int64, Vocabulary::kPadding past the end; undefined: numbers.
  torch::Tensor lengths;  ///< [B] int64.
  torch::Tensor gold;     ///< [B, L] float, 0 past the end and where it is not known; undefined
                          ///< when no example has it.
  torch::Tensor values = {};  ///< [B, L, width] float, 0 past the end; undefined: words.
  /// Of each level, finest first: [B, S] sizes of the runs, 0 past the last, and [B] how many.
  std::vector<std::pair<torch::Tensor, torch::Tensor>> levels = {};
  std::vector<std::vector<std::string>> tokens = {};  ///< The words as they are written.
};

/// A stretch of an input of the batch.
struct PaddedView {
  std::string of;
  torch::Tensor starts;   ///< [B] int64.
  torch::Tensor lengths;  ///< [B] int64.
};

struct Batch {
  static constexpr std::int64_t kNoLabel = -100;  ///< What losses of torch pass over.

  std::map<std::string, Padded> inputs;
  /// [B] int64, kNoLabel where there is none; undefined when no example has one.
  torch::Tensor labels;
  std::vector<std::size_t> indices;  ///< Row b is example indices[b].
  std::map<std::string, PaddedView> views = {};
  Padded target = {};          ///< Numbered by the vocabulary of the answers; ids undefined: none.
  torch::Tensor numbers = {};  ///< [B] float64: Example::number.
  torch::Tensor nodes = {};    ///< [B] int64: Example::node.

  std::int64_t size() const { return static_cast<std::int64_t>(indices.size()); }
};

/// What a model must know of the data to be made, and to read more of it. Saved with the run, but
/// for the graph, which is read again.
struct DataInfo {
  std::vector<std::string> labels;  ///< Sorted.
  Vocabulary vocabulary;
  std::vector<InputInfo> inputs = {{.name = "text"}};
  Vocabulary target_vocabulary = {};  ///< Of tasks that answer with words.
  std::shared_ptr<const GraphData> graph = nullptr;
  std::shared_ptr<const Segmenter> segmenter = nullptr;  ///< Of tasks on subwords.
  std::shared_ptr<const UserVectors> users = nullptr;    ///< Of a memory of users.

  /// The examples as the model sees them.
  std::vector<Example> seen(std::vector<Example> examples) const {
    return segmenter ? segmenter->cut(std::move(examples)) : examples;
  }
};

/// Numbers and pads the examples at `indices` (at least one). They must have the same inputs, and
/// their labels must be known; else InputError names the example.
Batch collate(std::span<const Example> examples, std::span<const std::size_t> indices,
              const DataInfo& info);

}  // namespace heed
