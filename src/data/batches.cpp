#include "heed/data/batches.hpp"

#include <algorithm>

#include "heed/base/error.hpp"

namespace heed {
namespace {

using Indices = std::span<const std::size_t>;
using torch::Tensor;

template <class Map>
const typename Map::mapped_type& part_of(const Map& inputs, const Example& example,
                                         const std::string& input) {
  const auto found = inputs.find(input);
  HEED_CHECK(found != inputs.end(), "example '{}': no input '{}', which others of its batch have",
             example.id, input);
  return found->second;
}

Tensor to_tensor(const std::vector<std::int64_t>& numbers) {
  return torch::tensor(numbers, torch::kInt64);
}

/// [B] lengths of an input, and the longest.
std::pair<Tensor, std::int64_t> lengths_of(std::span<const Example> examples, Indices indices,
                                           const std::string& input) {
  std::vector<std::int64_t> lengths;
  for (const std::size_t index : indices)
    lengths.push_back(static_cast<std::int64_t>(input_length(examples[index], input)));
  return {to_tensor(lengths), std::ranges::max(lengths)};
}

/// [B, L] gold weights; undefined unless an example has them.
Tensor pad_gold(std::span<const Example> examples, Indices indices, const std::string& input,
                std::int64_t longest) {
  Tensor padded;
  for (std::size_t b = 0; b < indices.size(); ++b) {
    const Example& example = examples[indices[b]];
    const auto gold = example.gold.find(input);
    if (gold == example.gold.end()) continue;
    const std::size_t length = input_length(example, input);
    HEED_CHECK(gold->second.size() == length, "example '{}': {} gold weights for {} tokens of '{}'",
               example.id, gold->second.size(), length, input);
    if (!padded.defined())
      padded = torch::zeros({static_cast<std::int64_t>(indices.size()), longest});
    std::ranges::copy(gold->second,
                      padded.data_ptr<float>() + static_cast<std::int64_t>(b) * longest);
  }
  return padded;
}

/// One level: [B, S] sizes of the runs, and [B] how many.
std::pair<Tensor, Tensor> pad_level(std::span<const Example> examples, Indices indices,
                                    const std::string& input, std::size_t level) {
  std::vector<std::int64_t> counts;
  for (const std::size_t index : indices)
    counts.push_back(static_cast<std::int64_t>(examples[index].levels.at(input).at(level).size()));
  const std::int64_t most = std::ranges::max(counts);
  Tensor sizes = torch::zeros({static_cast<std::int64_t>(indices.size()), most}, torch::kInt64);
  for (std::size_t b = 0; b < indices.size(); ++b)
    std::ranges::copy(examples[indices[b]].levels.at(input)[level],
                      sizes.data_ptr<std::int64_t>() + static_cast<std::int64_t>(b) * most);
  return {sizes, to_tensor(counts)};
}

Tensor pad_ids(std::span<const std::vector<std::string>> tokens, std::int64_t longest,
               const Vocabulary& vocabulary) {
  Tensor ids = torch::full({static_cast<std::int64_t>(tokens.size()), longest},
                           Vocabulary::kPadding, torch::kInt64);
  for (std::size_t b = 0; b < tokens.size(); ++b)
    std::ranges::transform(tokens[b],
                           ids.data_ptr<std::int64_t>() + static_cast<std::int64_t>(b) * longest,
                           [&](const auto& token) { return vocabulary.id(token); });
  return ids;
}

Tensor pad_values(std::span<const Example> examples, Indices indices, const std::string& input,
                  std::int64_t longest) {
  const std::int64_t width =
      part_of(examples[indices[0]].values, examples[indices[0]], input).width;
  Tensor padded = torch::zeros({static_cast<std::int64_t>(indices.size()), longest, width});
  for (std::size_t b = 0; b < indices.size(); ++b) {
    const Example& example = examples[indices[b]];
    const Values& values = part_of(example.values, example, input);
    HEED_CHECK(values.width == width,
               "example '{}': {} numbers a position of '{}', others of its batch have {}",
               example.id, values.width, input, width);
    std::ranges::copy(values.data,
                      padded.data_ptr<float>() + static_cast<std::int64_t>(b) * longest * width);
  }
  return padded;
}

Padded pad(std::span<const Example> examples, Indices indices, const std::string& input,
           const Vocabulary& vocabulary) {
  Padded padded;
  const Example& first = examples[indices[0]];
  const bool words = first.inputs.contains(input);
  if (words) {
    for (const std::size_t index : indices)
      padded.tokens.push_back(part_of(examples[index].inputs, examples[index], input));
  }
  std::int64_t longest = 0;
  std::tie(padded.lengths, longest) = lengths_of(examples, indices, input);
  if (words) {
    padded.ids = pad_ids(padded.tokens, longest, vocabulary);
  } else {
    padded.values = pad_values(examples, indices, input, longest);
  }
  padded.gold = pad_gold(examples, indices, input, longest);
  const auto levels = first.levels.find(input);
  const std::size_t depth = levels == first.levels.end() ? 0 : levels->second.size();
  for (std::size_t level = 0; level < depth; ++level)
    padded.levels.push_back(pad_level(examples, indices, input, level));
  return padded;
}

PaddedView view_of(std::span<const Example> examples, Indices indices, const std::string& name) {
  std::vector<std::int64_t> starts, lengths;
  for (const std::size_t index : indices) {
    const View& view = part_of(examples[index].views, examples[index], name);
    starts.push_back(static_cast<std::int64_t>(view.begin));
    lengths.push_back(static_cast<std::int64_t>(view.end - view.begin));
  }
  return {.of = examples[indices[0]].views.at(name).of,
          .starts = to_tensor(starts),
          .lengths = to_tensor(lengths)};
}

Tensor label_tensor(std::span<const Example> examples, Indices indices,
                    std::span<const std::string> labels) {
  std::vector<std::int64_t> classes;
  for (const std::size_t index : indices) {
    const Example& example = examples[index];
    if (example.label.empty()) {
      classes.push_back(Batch::kNoLabel);
      continue;
    }
    const auto found = std::ranges::lower_bound(labels, example.label);
    HEED_CHECK(found != labels.end() && *found == example.label,
               "example '{}': label '{}' is none of the {} the model knows", example.id,
               example.label, labels.size());
    classes.push_back(found - labels.begin());
  }
  const bool known = std::ranges::any_of(classes, [](auto c) { return c != Batch::kNoLabel; });
  return known ? to_tensor(classes) : Tensor();
}

Padded target_of(std::span<const Example> examples, Indices indices, const Vocabulary& vocabulary) {
  Padded target;
  std::vector<std::int64_t> lengths;
  for (const std::size_t index : indices) {
    target.tokens.push_back(examples[index].target);
    lengths.push_back(static_cast<std::int64_t>(examples[index].target.size()));
  }
  target.lengths = to_tensor(lengths);
  target.ids = pad_ids(target.tokens, std::ranges::max(lengths), vocabulary);
  return target;
}

}  // namespace

Batch collate(std::span<const Example> examples, Indices indices, const DataInfo& info) {
  HEED_CHECK(!indices.empty(), "collate: a batch of no examples; at least one is needed");
  for (const std::size_t index : indices) {
    HEED_CHECK(index < examples.size(), "collate: example {} of {}", index, examples.size());
  }
  Batch batch;
  batch.indices.assign(indices.begin(), indices.end());
  const Example& first = examples[indices[0]];
  std::vector<double> numbers;
  std::vector<std::int64_t> nodes;
  for (const std::size_t index : indices) {
    for (const auto& [name, tokens] : examples[index].inputs) part_of(first.inputs, first, name);
    numbers.push_back(examples[index].number);
    nodes.push_back(examples[index].node);
  }
  for (const auto& [name, tokens] : first.inputs)
    batch.inputs[name] = pad(examples, indices, name, info.vocabulary);
  for (const auto& [name, values] : first.values)
    batch.inputs[name] = pad(examples, indices, name, info.vocabulary);
  for (const auto& [name, view] : first.views) batch.views[name] = view_of(examples, indices, name);
  batch.labels = label_tensor(examples, indices, info.labels);
  batch.target = target_of(examples, indices, info.target_vocabulary);
  batch.numbers = torch::tensor(numbers, torch::kFloat64);
  batch.nodes = to_tensor(nodes);
  return batch;
}

}  // namespace heed
