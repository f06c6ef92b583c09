#include "heed/data/segmenter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "heed/base/words.hpp"

namespace heed {
namespace {

constexpr std::string_view kWordMark = "▁";

/// Sizes of runs, counted in pieces.
std::vector<std::int64_t> recount(std::span<const std::int64_t> runs,
                                  std::span<const std::size_t> places) {
  std::vector<std::int64_t> counted;
  std::size_t word = 0;
  for (const std::int64_t size : runs) {
    const std::size_t end = word + static_cast<std::size_t>(size);
    counted.push_back(static_cast<std::int64_t>(places[end] - places[word]));
    word = end;
  }
  return counted;
}

/// Links of words as links of their pieces, each with each.
std::vector<std::pair<std::size_t, std::size_t>> cut_links(
    std::span<const std::pair<std::size_t, std::size_t>> links,
    std::span<const std::size_t> targets, std::span<const std::size_t> sources) {
  std::vector<std::pair<std::size_t, std::size_t>> cut;
  for (const auto& [target, source] : links) {
    for (std::size_t t = targets[target]; t < targets[target + 1]; ++t) {
      for (std::size_t s = sources[source]; s < sources[source + 1]; ++s) cut.emplace_back(t, s);
    }
  }
  return cut;
}

}  // namespace

Segmenter::Segmenter(std::string model, std::string_view source)
    : model_(std::move(model)), subwords_(model_, source) {}

std::shared_ptr<const Segmenter> Segmenter::learn(const WordCounts& counts,
                                                  SubwordOptions options) {
  std::vector<std::string> lines;
  for (const auto& [word, count] : counts) lines.push_back(fmt::format("{}\t{}", word, count));
  options.counted = true;
  return std::make_shared<Segmenter>(train_subwords(lines, options), "task.subwords");
}

std::vector<std::string> Segmenter::cut(std::span<const std::string> words) const {
  const Pieces pieces = subwords_.encode_words(words);
  std::vector<std::string> result;
  result.reserve(pieces.ids.size());
  for (std::size_t w = 0; w < words.size(); ++w) {
    const auto [begin, end] = pieces.words[w];
    const auto ids = std::span(pieces.ids).subspan(begin, end - begin);
    if (std::ranges::find(ids, Subwords::kUnknown) != ids.end()) {
      result.push_back(fmt::format("{}{}", kWordMark, words[w]));
      continue;
    }
    for (const std::int64_t id : ids) result.push_back(subwords_.piece(id));
  }
  return result;
}

std::vector<std::size_t> Segmenter::places(std::span<const std::string> words) const {
  std::vector<std::size_t> places = {0};
  for (const std::string& word : words)
    places.push_back(places.back() + cut(std::span(&word, 1)).size());
  return places;
}

Example Segmenter::cut(const Example& example) const {
  Example result = example;
  std::map<std::string, std::vector<std::size_t>> places;
  for (auto& [name, words] : result.inputs) {
    places[name] = this->places(words);
    words = cut(words);
  }
  for (auto& [name, weights] : result.gold) {
    const auto found = places.find(name);
    if (found == places.end()) continue;
    std::vector<float> spread;
    for (std::size_t word = 0; word < weights.size(); ++word)
      spread.insert(spread.end(), found->second[word + 1] - found->second[word], weights[word]);
    weights = std::move(spread);
  }
  for (auto& [name, levels] : result.levels) {
    if (places.contains(name) && !levels.empty()) levels[0] = recount(levels[0], places[name]);
  }
  for (auto& [name, view] : result.views) {
    const auto found = places.find(view.of);
    if (found == places.end()) continue;
    view.begin = found->second[view.begin];
    view.end = found->second[view.end];
  }
  result.target = cut(example.target);
  if (!example.links.empty() && !places.empty())
    result.links = cut_links(example.links, this->places(example.target), places.begin()->second);
  return result;
}

std::vector<Example> Segmenter::cut(std::vector<Example> examples) const {
  for (Example& example : examples) example = cut(example);
  return examples;
}

std::string written(std::span<const std::string> tokens, const Segmenter* segmenter) {
  if (!segmenter) return join(tokens, " ");
  std::string text;
  for (const std::string& token : tokens) {
    const bool starts = token.starts_with(kWordMark);
    if (starts && !text.empty()) text += ' ';
    text += std::string_view(token).substr(starts ? kWordMark.size() : 0);
  }
  return text;
}

}  // namespace heed
