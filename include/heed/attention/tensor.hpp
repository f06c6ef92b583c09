#pragma once
#include <torch/types.h>

#include <map>
#include <string>
#include <vector>

namespace heed {

using torch::Tensor;

/// Tensors by the name the formula gives them: W1, W2, w, b …
using Params = std::map<std::string, Tensor>;

/// Runs of positions that belong together: the words of each sentence, the sentences of each
/// paragraph. Runs follow each other without gaps, from the first position on.
struct Segments {
  Tensor sizes;         // [B, S] positions of the level below in each segment
  Tensor lengths = {};  // [B] segments of each entry; undefined: all S
};

/// A batch of sequences: `data` [B, N, D]; `lengths` [B], undefined when all N are valid. The name
/// labels the axes of traces.
struct Input {
  Tensor data;
  Tensor lengths;
  std::string name;
  std::vector<Segments> levels = {};  // finest first: positions in sentences, those in paragraphs …
};

/// [B, N] bool, true where a position is valid; undefined when all are.
Tensor valid_positions(const Input& input);

/// The input with zeros where it is not valid: a layer may then see it, NaN in the padding or not.
Input zero_padding(Input input);

/// The mean over valid positions, [B, D]; 0 for an empty sequence.
Tensor mean(const Input& input);

/// "2×8×512×64", for messages.
std::string shape_text(const Tensor& tensor);

}  // namespace heed
