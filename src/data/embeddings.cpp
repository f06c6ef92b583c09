#include "heed/data/embeddings.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/mapped_file.hpp"
#include "heed/base/words.hpp"
#include "heed/data/safetensors.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

/// The file an npm package is about.
fs::path main_file(const fs::path& folder) {
  const fs::path description = folder / "package.json";
  HEED_CHECK(is_there(description),
             "{}: a folder without package.json; name the file with the vectors", folder.string());
  const auto root = nlohmann::json::parse(read_file(description), nullptr, false);
  HEED_CHECK(root.is_object() && root.contains("main") && root["main"].is_string(),
             "{}:1: no \"main\" that names the file with the vectors", description.string());
  const auto main = root["main"].get<std::string>();
  const fs::path file = (folder / main).lexically_normal();
  std::error_code ignored;
  HEED_CHECK(
      !fs::is_directory(file, ignored),
      "{}:1: \"main\" is '{}', which is a folder; name the file with the vectors in its place",
      description.string(), main);
  return file;
}

Embeddings from_table(WordTable table) {
  const auto count = static_cast<std::int64_t>(table.words.size());
  const auto width = static_cast<std::int64_t>(table.width);
  Embeddings result{.words = std::move(table.words),
                    .vectors = torch::empty({count, width}, torch::kFloat32),
                    .repeated = table.repeated};
  std::memcpy(result.vectors.data_ptr<float>(), table.values.data(),
              table.values.size() * sizeof(float));
  return result;
}

Embeddings from_safetensors(const fs::path& path, const WordTableOptions& options) {
  auto [content, file] = map_safetensors(path);
  HEED_CHECK(content.tensors.contains("vectors") && content.tensors.contains("words"),
             "{}: no tensors 'vectors' and 'words'; make the file with 'heed import embeddings'",
             path.string());
  const torch::Tensor vectors = content.tensors["vectors"], letters = content.tensors["words"];
  HEED_CHECK(vectors.dim() == 2 && vectors.scalar_type() == torch::kFloat32 && letters.dim() == 1 &&
                 letters.scalar_type() == torch::kUInt8,
             "{}: 'vectors' must be a matrix of F32 and 'words' a row of U8", path.string());
  HEED_CHECK(vectors.size(1) > 0,
             "{}: 'vectors' is {}×0: no word has a number; make the file again with 'heed import "
             "embeddings'",
             path.string(), vectors.size(0));
  const std::span<const float> numbers(vectors.const_data_ptr<float>(),
                                       static_cast<std::size_t>(vectors.numel()));
  HEED_CHECK(std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); }),
             "{}: 'vectors' has a NaN or infinity", path.string());
  const std::string_view text(reinterpret_cast<const char*>(letters.data_ptr<std::uint8_t>()),
                              static_cast<std::size_t>(letters.numel()));
  HEED_CHECK(text.ends_with('\n') && !invalid_utf8(text),
             "{}: 'words' is not UTF-8 with a line end after each word", path.string());
  Embeddings result{.words = split(text.substr(0, text.size() - 1), '\n'),
                    .vectors = vectors,
                    .file = std::move(file)};
  HEED_CHECK(static_cast<std::int64_t>(result.words.size()) == vectors.size(0),
             "{}: {} words but {} vectors", path.string(), result.words.size(), vectors.size(0));
  if (options.limit > 0 && options.limit < result.words.size()) {
    result.words.resize(options.limit);
    result.vectors = vectors.slice(0, 0, static_cast<std::int64_t>(options.limit)).clone();
  }
  return result;
}

}  // namespace

Embeddings load_embeddings(const fs::path& path, const WordTableOptions& options) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return load_embeddings(main_file(path), options);
  const std::string ending = lower(path.extension().string());
  if (ending == ".safetensors") return from_safetensors(path, options);
  if (ending == ".json") return from_table(read_wink_table(path, options));
  return from_table(read_word_table(path, options));
}

void save_embeddings(const fs::path& path, const Embeddings& embeddings) {
  const std::string text = join(embeddings.words, "\n") + "\n";
  torch::Tensor letters = torch::empty({static_cast<std::int64_t>(text.size())}, torch::kUInt8);
  std::memcpy(letters.data_ptr<std::uint8_t>(), text.data(), text.size());
  write_safetensors(path, {{"vectors", embeddings.vectors}, {"words", letters}});
}

EmbeddingIndex::EmbeddingIndex(Embeddings embeddings)
    : embeddings_(std::move(embeddings)), order_(embeddings_.words.size()) {
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::sort(order_, {}, [this](std::int32_t row) { return word(row); });
}

void EmbeddingIndex::rest() const {
  if (embeddings_.file) embeddings_.file->rest();
}

std::int64_t EmbeddingIndex::find(std::string_view wanted) const {
  const auto found =
      std::ranges::lower_bound(order_, wanted, {}, [this](std::int32_t row) { return word(row); });
  return found != order_.end() && word(*found) == wanted ? *found : -1;
}

std::vector<std::int64_t> EmbeddingIndex::rows(std::string_view word) const {
  std::vector<std::int64_t> result;
  const auto known = [&](std::string_view candidate) { return find(candidate) >= 0; };
  for (const std::string& found : stand_ins(word, known)) result.push_back(find(found));
  return result;
}

torch::Tensor EmbeddingIndex::embedding_for(std::string_view word) const {
  const std::vector<std::int64_t> found = rows(word);
  if (found.empty()) return {};
  return embeddings_.vectors.index_select(0, torch::tensor(found)).mean(0);
}

Coverage EmbeddingIndex::cover(std::span<const std::string> words) const {
  Coverage result{.words = words.size()};
  for (const std::string& word : words) {
    if (find(word) >= 0) {
      ++result.exact;
    } else if (!rows(word).empty()) {
      ++result.by_stand_in;
    } else {
      result.missing.push_back(word);
    }
  }
  return result;
}

}  // namespace heed
