#pragma once
#include <torch/types.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "heed/data/buckets.hpp"
#include "heed/data/dataset.hpp"
#include "heed/data/vocabulary.hpp"

namespace heed {

/// One input of a batch, padded at the end to its longest example.
struct Padded {
  torch::Tensor ids;      ///< [B, L] int64, Vocabulary::kPadding past the end.
  torch::Tensor lengths;  ///< [B] int64.
  torch::Tensor gold;     ///< [B, L] float, 0 past the end; undefined unless every example has it.
};

struct Batch {
  std::map<std::string, Padded> inputs;
  torch::Tensor labels;              ///< [B] int64; undefined when an example has no label.
  std::vector<std::size_t> indices;  ///< Row b is example indices[b].
};

/// Numbers and pads the examples at `indices` (at least one). They must have the same inputs, and
/// their labels must be in `labels`; else InputError names the example.
Batch collate(std::span<const Example> examples, std::span<const std::size_t> indices,
              const Vocabulary& vocabulary, std::span<const std::string> labels);

}  // namespace heed
