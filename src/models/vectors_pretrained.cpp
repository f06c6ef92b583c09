// Vectors of words in their sentence, from an encoder that was trained before.
#include <ATen/Parallel.h>

#include <set>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"
#include "heed/models/bert.hpp"
#include "heed/models/config.hpp"
#include "models/feature_cache.hpp"
#include "models/vectors.hpp"

namespace heed {
namespace {

using Sentence = std::vector<std::string>;

/// The sentences of a batch, each of which is encoded by itself, and where its first word stands
/// in [B · L]. An input without levels is one sentence.
struct BatchSentences {
  std::vector<Sentence> sentences;
  std::vector<Sentence> partners;  // one a sentence, or none at all
  std::vector<std::int64_t> places;

  explicit BatchSentences(const Padded& words, VectorModel::Partners beside) {
    const std::int64_t longest = words.ids.size(1);
    for (std::size_t b = 0; b < words.tokens.size(); ++b) {
      const Sentence& tokens = words.tokens[b];
      const std::int64_t first = static_cast<std::int64_t>(b) * longest;
      if (words.levels.empty()) {
        add(tokens, 0, static_cast<std::int64_t>(tokens.size()), first);
        if (!beside.empty()) partners.resize(sentences.size(), beside[b]);
        continue;
      }
      const Tensor sizes = words.levels.front().first[static_cast<std::int64_t>(b)];
      std::int64_t begin = 0;
      for (std::int64_t s = 0; s < sizes.size(0); ++s) {
        const auto size = sizes[s].item<std::int64_t>();
        add(tokens, begin, size, first + begin);
        begin += size;
      }
      if (!beside.empty()) partners.resize(sentences.size(), beside[b]);
    }
  }

 private:
  void add(const Sentence& tokens, std::int64_t begin, std::int64_t size, std::int64_t place) {
    if (size == 0) return;
    sentences.emplace_back(tokens.begin() + begin, tokens.begin() + begin + size);
    places.push_back(place);
  }
};

TextEncoderOptions encoder_options(const VectorsProblem& p) {
  const bool tune = get<bool>(p.options, "tune");
  return {.layers = get<std::int64_t>(p.options, "layer"),
          .dropout = tune ? get<double>(p.options, "dropout") : 0};
}

/// What a sentence is told apart by: its words, and its partner's.
std::string text_of(const BatchSentences& batch, std::size_t i) {
  const std::string text = join(batch.sentences[i], " ");
  return batch.partners.empty() ? text : text + "\n[SEP] " + join(batch.partners[i], " ");
}

/// The encoder's partner, where it has one.
std::string partner_of(const VectorsProblem& p) {
  const auto& name = get<std::string>(p.options, "partner");
  std::vector<std::string> names;
  for (const InputInfo& input : p.info.inputs) names.push_back(input.name);
  HEED_CHECK(name.empty() || std::ranges::find(names, name) != names.end(),
             "vectors 'pretrained': partner '{}': the data has no such input; it has {}", name,
             join(names, ", "));
  return name;
}

/// Fixed: every sentence is encoded once in its life, alone, so that its vectors do not depend on
/// the batch it came in, and kept on disk. Its weights are no part of the run.
class FrozenVectors : public VectorModel {
 public:
  explicit FrozenVectors(const VectorsProblem& p)
      : partner_(partner_of(p)),
        encoder_(vectors_path(p), encoder_options(p)),
        cache_(cache_file(p, encoder_.layers()), encoder_.width()) {
    encoder_.eval();
  }

  Input forward(const Padded& words) override { return forward(words, {}); }
  Input forward(const Padded& words, Partners partners) override {
    const BatchSentences batch(words, partners);
    Tensor flat = torch::zeros({words.ids.numel(), output_dim()});
    const std::vector<Tensor> features = encode(batch);
    for (std::size_t i = 0; i < features.size(); ++i) {
      flat.narrow(0, batch.places[i], features[i].size(0)).copy_(features[i]);
    }
    return {.data = flat.view({words.ids.size(0), words.ids.size(1), output_dim()}),
            .lengths = words.lengths,
            .name = ""};
  }
  std::string partner() const override { return partner_; }
  std::int64_t output_dim() const override { return encoder_.width(); }

 private:
  static std::filesystem::path cache_file(const VectorsProblem& p, std::int64_t layer) {
    const auto& cache = get<std::string>(p.options, "cache");
    if (cache == "none") return {};
    const std::filesystem::path model = vectors_path(p),
                                folder =
                                    cache.empty() ? cache_folder() : std::filesystem::path(cache);
    std::uint64_t hash = 0;
    for (const char* name : {"config.json", "vocab.txt", "model.safetensors"}) {
      hash = content_hash(fmt::format("{:x} {:x}", hash, content_hash(read_file(model / name))));
    }
    return folder / fmt::format("{:016x}-layer-{}.features", hash, layer);
  }

  std::vector<Tensor> encode(const BatchSentences& batch) {
    std::vector<Tensor> features;
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < batch.sentences.size(); ++i) {
      features.push_back(cache_.find(text_of(batch, i)));
      if (!features.back().defined()) missing.push_back(features.size() - 1);
    }
    // A sentence a thread: small products gain little from two.
    at::parallel_for(
        0, static_cast<std::int64_t>(missing.size()), 1, [&](std::int64_t begin, std::int64_t end) {
          const torch::NoGradGuard fixed;
          for (std::int64_t m = begin; m < end; ++m) {
            const std::size_t i = missing[static_cast<std::size_t>(m)];
            const std::size_t asked = batch.partners.empty() ? 0 : 1;
            features[i] =
                encoder_.word_vectors({&batch.sentences[i], 1}, {batch.partners.data() + i, asked});
          }
        });
    std::vector<FeatureCache::Entry> fresh;
    std::set<std::string> added;  // a sentence may come twice in a batch
    for (const std::size_t i : missing) {
      const std::string text = text_of(batch, i);
      if (added.insert(text).second) fresh.push_back({.text = text, .features = features[i]});
    }
    cache_.add(fresh);
    return features;
  }

  std::string partner_;
  TextEncoder encoder_;
  FeatureCache cache_;
};

/// Tuned: its layers train with the task, at train.tune_lr.
class TunedVectors : public VectorModel {
 public:
  explicit TunedVectors(const VectorsProblem& p) : partner_(partner_of(p)) {
    encoder_ = register_module("tuned",
                               std::make_shared<TextEncoder>(vectors_path(p), encoder_options(p)));
  }

  Input forward(const Padded& words) override { return forward(words, {}); }
  Input forward(const Padded& words, Partners partners) override {
    const BatchSentences batch(words, partners);
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < batch.sentences.size(); ++i) {
      for (std::size_t k = 0; k < batch.sentences[i].size(); ++k) {
        rows.push_back(batch.places[i] + static_cast<std::int64_t>(k));
      }
    }
    const Tensor vectors = encoder_->word_vectors(batch.sentences, batch.partners);
    const Tensor flat = torch::zeros({words.ids.numel(), output_dim()}, vectors.options())
                            .index_copy(0, torch::tensor(rows, torch::kInt64), vectors);
    return {.data = flat.view({words.ids.size(0), words.ids.size(1), output_dim()}),
            .lengths = words.lengths,
            .name = ""};
  }
  std::string partner() const override { return partner_; }
  std::int64_t output_dim() const override { return encoder_->width(); }

 private:
  std::string partner_;
  std::shared_ptr<TextEncoder> encoder_;
};

}  // namespace

PartInfo pretrained_vectors() {
  return {
      .id = "pretrained",
      .group = Group::vectors,
      .title = "Vectors of words in their sentence, from a pretrained encoder",
      .formula = R"(x_l = \frac{1}{|w_l|} \sum_{p \in w_l} \mathrm{BERT}(s)_p)",
      .paper = "Devlin et al. 2019; MiniLM: Wang et al. 2020",
      .advice = "little data and time to encode it; lower layers often suit better than the last",
      .options = {{.name = "path",
                   .fallback = std::string(),
                   .doc = "what 'heed import minilm' made"},
                  {.name = "layer",
                   .fallback = std::int64_t{-1},
                   .doc = "whose states are taken; 0 = the embeddings, -1 = the last",
                   .min = -1,
                   .max = 1000},
                  {.name = "tune",
                   .fallback = false,
                   .doc = "train its layers with the task, at train.tune_lr"},
                  {.name = "dropout",
                   .fallback = 0.1,
                   .doc = "inside it, where it is tuned",
                   .min = 0,
                   .max = 0.95},
                  {.name = "partner",
                   .fallback = std::string(),
                   .doc = "an input that each text is read together with, so that its words know "
                          "it, as \"target\" of aspects; empty = none"},
                  {.name = "cache",
                   .fallback = std::string(),
                   .doc = "folder for the vectors of a fixed one; empty = ~/.cache/heed, or none"}},
      .promises = "same bits at the same thread count",
      .make = MakeVectors([](const VectorsProblem& p) -> std::shared_ptr<VectorModel> {
        HEED_CHECK(p.input.width == 0,
                   "vectors 'pretrained': input '{}' is numbers; words are needed", p.input.name);
        if (get<bool>(p.options, "tune")) return std::make_shared<TunedVectors>(p);
        return std::make_shared<FrozenVectors>(p);
      })};
}

}  // namespace heed
