#pragma once
#include <torch/nn/modules/linear.h>

#include "heed/models/task_model.hpp"

namespace heed {

/// The words of many rows as one sparse matrix [rows, words], each row of sum 1, and its
/// transpose: both products visit the non-zero entries only.
struct BagOfWords {
  BagOfWords() = default;
  explicit BagOfWords(const std::vector<std::vector<std::int64_t>>& rows, std::int64_t words);

  /// The product with `table` [words, dim]: [rows, dim]. A share `dropout` of the entries is 0 and
  /// the rest raised to match; what is drawn comes from torch's generator.
  Tensor times(const Tensor& table, double dropout) const;

  Tensor word, start, value;           // by row: [entries], [rows + 1], [entries]
  Tensor row, word_start, from_place;  // by word: the transpose, and its entries' places above
};

/// Labels of the nodes of one graph: words of each node, attention over its neighbours, a softmax.
/// Every step computes all nodes; a batch says whose labels count.
class GraphModel : public TaskModel {
 public:
  GraphModel(const Config& config, const DataInfo& info);

  Tensor losses(const Batch& batch, Trace& trace) override;
  Reply answer(const Batch& batch, Trace& trace) override;
  const Mechanism& attention() const override { return *attention_; }
  bool whole() const override { return true; }

 private:
  /// Logits [B, labels] of the batch's nodes.
  Tensor forward(const Batch& batch, Trace& trace);
  /// The relation, and its edges, whose weights the map of this name has: "layer 1/RELATION" where
  /// there are several.
  const std::pair<std::string, Tensor>& edges_under(const std::string& map) const;
  /// The maps of all edges as maps of the batch's nodes, each over its own neighbours.
  void record(const Trace& all, const Batch& batch, Trace& trace) const;

  BagOfWords bag_;
  std::vector<std::pair<std::string, Tensor>> edges_;  // [2, E] by relation
  Tensor table_;                                       // [words, dim]
  std::shared_ptr<Mechanism> attention_;
  torch::nn::Linear output_{nullptr};
  double dropout_, output_dropout_, smoothing_;
};

}  // namespace heed
