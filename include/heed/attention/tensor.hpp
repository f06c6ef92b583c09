#pragma once
#include <torch/types.h>

#include <map>
#include <string>

namespace heed {

using torch::Tensor;

/// Tensors by the name the formula gives them: W1, W2, w, b …
using Params = std::map<std::string, Tensor>;

/// A batch of sequences: `data` [B, N, D]; `lengths` [B], undefined when all N are valid. The name
/// labels the axes of traces.
struct Input {
  Tensor data;
  Tensor lengths;
  std::string name;
};

/// [B, N] bool, true where a position is valid; undefined when all are.
Tensor valid_positions(const Input& input);

/// The input with zeros past each entry's length: nothing there reaches an output or a gradient.
Input without_padding(const Input& input);

/// The mean over valid positions, [B, D]; 0 for an empty sequence.
Tensor mean(const Input& input);

/// "2×8×512×64", for messages.
std::string shape_text(const Tensor& tensor);

}  // namespace heed
