#include "heed/data/subwords.hpp"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <unordered_map>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

constexpr std::string_view kWordStart = "▁";

class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(std::span<const std::string> lines) : lines_(lines) {}
  bool done() const override { return next_ >= lines_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return lines_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::span<const std::string> lines_;
  std::size_t next_ = 0;
};

/// SentencePiece's own words, without the source line it puts before them.
std::string reason(const sentencepiece::util::Status& status) {
  std::string text = status.ToString();
  if (const std::size_t place = text.rfind(") ["); place != text.npos) text.erase(0, place + 2);
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

std::vector<int> narrow(std::span<const std::int64_t> ids) { return {ids.begin(), ids.end()}; }

}  // namespace

std::string train_subwords(std::span<const std::string> lines, const SubwordOptions& options) {
  HEED_CHECK(options.kind == "bpe" || options.kind == "unigram",
             "subwords: no kind '{}'; one of bpe, unigram", options.kind);
  HEED_CHECK(!lines.empty(), "subwords: no text to learn from");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    HEED_CHECK(!invalid_utf8(lines[i]), "subwords: line {} is not UTF-8", i + 1);
  }
  // One thread and all lines: the pieces then depend on nothing but the text.
  const std::unordered_map<std::string, std::string> settings = {
      {"model_type", options.kind},
      {"input_format", options.counted ? "tsv" : "text"},
      {"vocab_size", fmt::format("{}", options.size)},
      {"character_coverage", fmt::format("{}", options.coverage)},
      {"normalization_rule_name", "identity"},
      {"num_threads", "1"},
      {"max_sentence_length", "1000000"},
      {"pad_id", fmt::format("{}", Subwords::kPadding)},
      {"unk_id", fmt::format("{}", Subwords::kUnknown)},
      {"bos_id", fmt::format("{}", Subwords::kBegin)},
      {"eos_id", fmt::format("{}", Subwords::kEnd)},
      {"minloglevel", "2"},
  };
  Lines source(lines);
  std::string model;
  sentencepiece::SetRandomGeneratorSeed(1);
  const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &source, &model);
  HEED_CHECK(status.ok(), "subwords: cannot learn {} pieces from {} lines: {}", options.size,
             lines.size(), reason(status));
  return model;
}

Subwords::Subwords(std::string_view model, std::string_view source)
    : model_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  const auto status = model_->LoadFromSerializedProto({model.data(), model.size()});
  HEED_CHECK(status.ok() && model_->GetPieceSize() > 0,
             "{}: not a sound SentencePiece model; train or fetch it again", source);
}

Subwords Subwords::load(const std::filesystem::path& file) {
  return {read_file(file), file.string()};
}

Subwords::Subwords(Subwords&&) noexcept = default;
Subwords& Subwords::operator=(Subwords&&) noexcept = default;
Subwords::~Subwords() = default;

std::size_t Subwords::size() const { return static_cast<std::size_t>(model_->GetPieceSize()); }

std::string Subwords::piece(std::int64_t id) const {
  HEED_CHECK(id >= 0 && static_cast<std::size_t>(id) < size(),
             "subwords: no piece {}; there are {}", id, size());
  return model_->IdToPiece(static_cast<int>(id));
}

bool Subwords::starts_word(std::int64_t id) const { return piece(id).starts_with(kWordStart); }

std::vector<std::int64_t> Subwords::encode(std::string_view text) const {
  std::vector<int> ids;
  const auto status = model_->Encode({text.data(), text.size()}, &ids);
  HEED_CHECK(status.ok(), "subwords: cannot encode a text: {}", reason(status));
  return {ids.begin(), ids.end()};
}

Pieces Subwords::encode_words(std::span<const std::string> words) const {
  Pieces result;
  for (const std::string& word : words) {
    // Pieces never cross a space, so a word's are the same alone and in its sentence.
    std::vector<std::int64_t> ids = encode(word);
    if (ids.empty()) ids.push_back(model_->unk_id());
    const std::size_t begin = result.ids.size();
    result.ids.insert(result.ids.end(), ids.begin(), ids.end());
    result.words.emplace_back(begin, result.ids.size());
  }
  return result;
}

std::string Subwords::decode(std::span<const std::int64_t> ids) const {
  for (const std::int64_t id : ids) piece(id);  // refuses what is no piece
  std::string text;
  const auto status = model_->Decode(narrow(ids), &text);
  HEED_CHECK(status.ok(), "subwords: cannot decode: {}", reason(status));
  return text;
}

}  // namespace heed
