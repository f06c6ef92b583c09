#include "heed/data/batches.hpp"

#include <algorithm>

#include "heed/base/error.hpp"

namespace heed {
namespace {

const std::vector<std::string>& tokens_of(const Example& example, const std::string& input) {
  const auto found = example.inputs.find(input);
  HEED_CHECK(found != example.inputs.end(),
             "example '{}': no input '{}', which others of its batch have", example.id, input);
  return found->second;
}

Padded pad(std::span<const Example> examples, std::span<const std::size_t> indices,
           const std::string& input, const Vocabulary& vocabulary) {
  const auto B = static_cast<std::int64_t>(indices.size());
  std::size_t longest = 0;
  bool all_gold = true;
  for (const std::size_t index : indices) {
    const std::size_t length = tokens_of(examples[index], input).size();
    longest = std::max(longest, length);
    const auto gold = examples[index].gold.find(input);
    all_gold = all_gold && gold != examples[index].gold.end();
    HEED_CHECK(gold == examples[index].gold.end() || gold->second.size() == length,
               "example '{}': {} gold weights for {} tokens of '{}'", examples[index].id,
               gold->second.size(), length, input);
  }
  const auto L = static_cast<std::int64_t>(longest);
  Padded padded{.ids = torch::full({B, L}, Vocabulary::kPadding, torch::kInt64),
                .lengths = torch::empty({B}, torch::kInt64),
                .gold = all_gold ? torch::zeros({B, L}, torch::kFloat32) : torch::Tensor()};
  auto* ids = padded.ids.data_ptr<std::int64_t>();
  auto* lengths = padded.lengths.data_ptr<std::int64_t>();
  auto* gold = all_gold ? padded.gold.data_ptr<float>() : nullptr;
  for (std::size_t b = 0; b < indices.size(); ++b) {
    const Example& example = examples[indices[b]];
    const std::vector<std::string>& tokens = tokens_of(example, input);
    lengths[b] = static_cast<std::int64_t>(tokens.size());
    std::ranges::transform(tokens, ids + b * longest,
                           [&](const auto& token) { return vocabulary.id(token); });
    if (gold) std::ranges::copy(example.gold.at(input), gold + b * longest);
  }
  return padded;
}

torch::Tensor label_tensor(std::span<const Example> examples, std::span<const std::size_t> indices,
                           std::span<const std::string> labels) {
  std::vector<std::int64_t> classes;
  for (const std::size_t index : indices) {
    const Example& example = examples[index];
    if (example.label.empty()) return {};
    const auto found = std::ranges::find(labels, example.label);
    HEED_CHECK(found != labels.end(), "example '{}': label '{}' is none of the {} the model knows",
               example.id, example.label, labels.size());
    classes.push_back(found - labels.begin());
  }
  return torch::tensor(classes, torch::kInt64);
}

}  // namespace

Batch collate(std::span<const Example> examples, std::span<const std::size_t> indices,
              const Vocabulary& vocabulary, std::span<const std::string> labels) {
  HEED_CHECK(!indices.empty(), "collate: a batch of no examples; at least one is needed");
  for (const std::size_t index : indices) {
    HEED_CHECK(index < examples.size(), "collate: example {} of {}", index, examples.size());
  }
  Batch batch;
  batch.indices.assign(indices.begin(), indices.end());
  const Example& first = examples[indices[0]];
  for (const std::size_t index : indices) {
    for (const auto& [name, tokens] : examples[index].inputs) tokens_of(first, name);
  }
  for (const auto& [name, tokens] : first.inputs) {
    batch.inputs[name] = pad(examples, indices, name, vocabulary);
  }
  batch.labels = label_tensor(examples, indices, labels);
  return batch;
}

}  // namespace heed
