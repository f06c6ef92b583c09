#include "heed/data/vocabulary.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "heed.vocabulary.1";

}  // namespace

WordCounts count_words(std::span<const Example> examples) {
  WordCounts counts;
  for (const Example& example : examples) {
    for (const auto& [name, tokens] : example.inputs) {
      for (const std::string& token : tokens) ++counts[token];
    }
  }
  return counts;
}

WordCounts count_targets(std::span<const Example> examples) {
  WordCounts counts;
  for (const Example& example : examples) {
    for (const std::string& token : example.target) ++counts[token];
  }
  return counts;
}

Vocabulary::Vocabulary(std::vector<std::string> words) : words_(std::move(words)) {
  ids_.reserve(words_.size());
  for (std::size_t i = 0; i < words_.size(); ++i) {
    HEED_CHECK(!invalid_utf8(words_[i]), "vocabulary: word {} is not UTF-8", i + 2);
    const bool fresh = ids_.emplace(words_[i], static_cast<std::int64_t>(i) + 2).second;
    HEED_CHECK(fresh, "vocabulary: the word '{}' is listed twice", words_[i]);
  }
}

Vocabulary Vocabulary::from_counts(const WordCounts& counts, const VocabularyOptions& options) {
  std::vector<std::pair<std::string, std::int64_t>> kept;
  for (const auto& [word, count] : counts) {
    if (count >= options.min_count) kept.emplace_back(word, count);
  }
  // The map is in the order of the alphabet, and a stable sort keeps it among equals.
  std::ranges::stable_sort(kept, std::greater<>(), [](const auto& item) { return item.second; });
  if (options.max_size > 0 && kept.size() > options.max_size) kept.resize(options.max_size);
  std::vector<std::string> words;
  for (auto& [word, count] : kept) words.push_back(std::move(word));
  return Vocabulary(std::move(words));
}

std::int64_t Vocabulary::id(std::string_view word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? kUnknown : found->second;
}

std::vector<std::int64_t> Vocabulary::ids(std::span<const std::string> tokens) const {
  std::vector<std::int64_t> result;
  result.reserve(tokens.size());
  for (const std::string& token : tokens) result.push_back(id(token));
  return result;
}

const std::string& Vocabulary::word(std::int64_t id) const {
  static const std::string kSpecials[] = {"<pad>", "<unk>"};
  HEED_CHECK(id >= 0 && static_cast<std::size_t>(id) < size(), "vocabulary: no word {}; it has {}",
             id, size());
  return id < 2 ? kSpecials[id] : words_[static_cast<std::size_t>(id) - 2];
}

std::string Vocabulary::to_json() const {
  // The specials are not stored: a word that is spelt like one stays a word.
  return json{{"format", kFormat}, {"words", words_}}.dump(0) + "\n";
}

Vocabulary Vocabulary::from_json(std::string_view text, std::string_view source) {
  const json root = json::parse(text, nullptr, false);
  HEED_CHECK(!root.is_discarded(), "{}: the vocabulary is damaged: not JSON", source);
  HEED_CHECK(root.is_object() && root.contains("format") && root.contains("words"),
             "{}: the vocabulary is damaged: 'format' and 'words' are needed", source);
  HEED_CHECK(root["format"] == kFormat,
             "{}: the vocabulary is not of format {}, the one this version reads", source, kFormat);
  HEED_CHECK(root["words"].is_array(), "{}: the vocabulary is damaged: 'words' is not a list",
             source);
  std::vector<std::string> words;
  for (const json& word : root["words"]) {
    HEED_CHECK(word.is_string(), "{}: the vocabulary is damaged: word {} is not a string", source,
               words.size() + 2);
    words.push_back(word.get<std::string>());
  }
  try {
    return Vocabulary(std::move(words));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: damaged {}", source, error.what()));
  }
}

}  // namespace heed
