#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/mapped_file.hpp"
#include "heed/data/safetensors_header.hpp"
#include "heed/models/bert.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

double norm_eps(const json& root, const fs::path& file) {
  const auto found = root.find("layer_norm_eps");
  if (found == root.end()) return BertConfig{}.eps;
  const double eps = found->is_number() ? found->get<double>() : 0;
  HEED_CHECK(eps > 0 && std::isfinite(eps), "{}:1: 'layer_norm_eps' is not a number above 0",
             file.string());
  return eps;
}

/// What config.json says, or an InputError for a model that we would run wrongly.
BertConfig read_bert_config(const fs::path& file, const TextEncoderOptions& options) {
  const json root = json::parse(read_file(file), nullptr, false);
  HEED_CHECK(root.is_object(), "{}:1: not a JSON object; fetch the file again", file.string());
  const auto number = [&](const char* key) {
    const auto found = root.find(key);
    HEED_CHECK(found != root.end() && found->is_number_unsigned() &&
                   found->get<std::uint64_t>() > 0 && found->get<std::uint64_t>() < 10'000'000,
               "{}:1: '{}' is not a whole number above 0", file.string(), key);
    return found->get<std::int64_t>();
  };
  const auto must_be = [&](const char* key, const char* value) {
    const std::string given = root.contains(key) && root[key].is_string() ? root[key] : json("");
    HEED_CHECK(given == value || !root.contains(key), "{}:1: '{}' is '{}'; only '{}' is built",
               file.string(), key, given, value);
  };
  must_be("model_type", "bert");
  must_be("hidden_act", "gelu");
  must_be("position_embedding_type", "absolute");
  const std::int64_t layers = number("num_hidden_layers"), width = number("hidden_size"),
                     heads = number("num_attention_heads");
  HEED_CHECK(options.layers <= layers, "{}:1: layer {} is asked of a model with {}", file.string(),
             options.layers, layers);
  HEED_CHECK(width % heads == 0, "{}:1: 'hidden_size' {} is not divisible by {} heads",
             file.string(), width, heads);
  return {.layers = options.layers < 0 ? layers : options.layers,
          .width = width,
          .heads = heads,
          .inner = number("intermediate_size"),
          .vocabulary = number("vocab_size"),
          .positions = number("max_position_embeddings"),
          .eps = norm_eps(root, file),
          .dropout = options.dropout};
}

/// Compares the sizes of config.json with the tensors of the weights: what it says is not believed
/// when it comes to making room for them.
void check_sizes(const BertConfig& config, const fs::path& config_file, const fs::path& weights) {
  const MappedFile file(weights);
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& entry : parse_safetensors(file.bytes(), weights.string()).entries)
    shapes[entry.name] = entry.shape;
  const auto must_be = [&](const char* key, const std::string& name, std::int64_t rows,
                           std::int64_t columns) {
    HEED_CHECK(shapes.contains(name),
               "{}: no tensor '{}'; the weights of a BERT encoder are needed", weights.string(),
               name);
    HEED_CHECK(shapes[name] == std::vector({rows, columns}),
               "{}:1: '{}' and 'hidden_size' ask for {}×{}, but '{}' of {} is {}; they are of two "
               "models",
               config_file.string(), key, rows, columns, name, weights.filename().string(),
               shape_text(torch::empty(shapes[name], torch::kMeta)));
  };
  must_be("vocab_size", "embeddings.word_embeddings.weight", config.vocabulary, config.width);
  must_be("max_position_embeddings", "embeddings.position_embeddings.weight", config.positions,
          config.width);
  for (std::int64_t l = 0; l < config.layers; ++l) {
    const std::string name = fmt::format("encoder.layer.{}.intermediate.dense.weight", l);
    HEED_CHECK(shapes.contains(name),
               "{}:1: layer {} is asked for, but {} has no '{}'; they are of two models",
               config_file.string(), config.layers, weights.filename().string(), name);
    must_be("intermediate_size", name, config.inner, config.width);
  }
}

/// Runs of pieces behind each other, as Bert takes them.
struct PackedRuns {
  std::vector<std::int64_t> ids, kinds, offsets = {0};

  /// A run, and the second text behind it.
  std::int64_t add(const Pieces& run, std::span<const std::int64_t> partner = {}) {
    const std::int64_t begin = offsets.back();
    ids.insert(ids.end(), run.ids.begin(), run.ids.end());
    ids.insert(ids.end(), partner.begin(), partner.end());
    kinds.resize(kinds.size() + run.ids.size(), 0);
    kinds.resize(ids.size(), 1);
    offsets.push_back(static_cast<std::int64_t>(ids.size()));
    return begin;
  }

  /// What the last layer makes of them.
  Tensor states(Bert& bert) const {
    return bert.forward(torch::tensor(ids), torch::tensor(offsets), torch::tensor(kinds)).back();
  }
};

/// The mean of rows [begin, end) of `x` for each span; no span is empty.
Tensor span_means(const Tensor& x, const std::vector<std::int64_t>& rows,
                  const std::vector<std::int64_t>& owners, std::int64_t spans) {
  const Tensor owner = torch::tensor(owners);
  const Tensor counts = torch::bincount(owner, {}, spans).to(x.scalar_type()).unsqueeze(1);
  return torch::zeros({spans, x.size(1)}, x.options())
             .index_add(0, owner, x.index_select(0, torch::tensor(rows))) /
         counts;
}

}  // namespace

TextEncoder::TextEncoder(const fs::path& folder, const TextEncoderOptions& options)
    : folder_(folder), tokeniser_(folder / "vocab.txt") {
  const BertConfig config = read_bert_config(folder / "config.json", options);
  HEED_CHECK(static_cast<std::int64_t>(tokeniser_.size()) == config.vocabulary,
             "{}: vocab.txt has {} pieces, config.json asks for {}; they are of two models",
             folder.string(), tokeniser_.size(), config.vocabulary);
  check_sizes(config, folder / "config.json", folder / "model.safetensors");
  bert_ = register_module("bert", std::make_shared<Bert>(config));
  bert_->load(folder / "model.safetensors");
}

Tensor TextEncoder::word_vectors(Sentences sentences, Sentences partners) {
  PackedRuns runs;
  std::vector<std::int64_t> rows, owners;
  std::int64_t words = 0;
  const auto positions = static_cast<std::size_t>(bert_->config().positions);
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    std::vector<Pieces> asks;
    if (!partners.empty()) asks = tokeniser_.runs(partners[s], positions / 2);
    std::span<const std::int64_t> partner;
    if (!asks.empty()) partner = std::span(asks.front().ids).subspan(1);  // without [CLS]
    for (const Pieces& run : tokeniser_.runs(sentences[s], positions - partner.size())) {
      const std::int64_t begin = runs.add(run, partner);
      for (const auto& [from, to] : run.words) {
        for (std::size_t i = from; i < to; ++i) {
          rows.push_back(begin + static_cast<std::int64_t>(i));
          owners.push_back(words);
        }
        ++words;
      }
    }
  }
  if (words == 0) return torch::zeros({0, width()});
  const Tensor state = runs.states(*bert_);
  return span_means(state, rows, owners, words);
}

Tensor TextEncoder::sentence_vectors(Sentences sentences, std::size_t pieces) {
  PackedRuns runs;
  std::vector<std::int64_t> rows, owners;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const auto cut = tokeniser_.runs(sentences[i], pieces);
    runs.add(cut.empty() ? Pieces{.ids = {tokeniser_.start(), tokeniser_.end()}, .words = {}}
                         : cut.front());
    owners.resize(runs.ids.size(), static_cast<std::int64_t>(i));
  }
  if (sentences.empty()) return torch::zeros({0, width()});
  for (std::size_t i = 0; i < runs.ids.size(); ++i) rows.push_back(static_cast<std::int64_t>(i));
  const Tensor state = runs.states(*bert_);
  const Tensor means = span_means(state, rows, owners, static_cast<std::int64_t>(sentences.size()));
  return means / means.norm(2, 1, true).clamp_min(1e-12);
}

// Layers that were left out are not asked for.
void TextEncoder::save(const fs::path& folder) const {
  json config = json::parse(read_file(folder_ / "config.json"));
  config["num_hidden_layers"] = layers();
  write_file(folder / "config.json", config.dump(2) + "\n");
  write_file(folder / "vocab.txt", read_file(folder_ / "vocab.txt"));
  bert_->save(folder / "model.safetensors");
}

}  // namespace heed
