#include "heed/data/subwords.hpp"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <optional>
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

/// Takes a varint of a protocol buffer off `rest`; none: it ends early.
std::optional<std::uint64_t> take_number(std::string_view& rest) {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return number;
  }
  return {};
}

/// A field of a protocol buffer; only strings and messages have bytes here.
struct Field {
  std::uint64_t number = 0;
  std::string_view bytes = {};
};

/// Takes one off `rest`; none: it is damaged, or of a type that SentencePiece does not write.
std::optional<Field> take_field(std::string_view& rest) {
  const auto key = take_number(rest);
  if (!key) return {};
  Field field{.number = *key >> 3};
  const std::uint64_t type = *key & 7;
  if (type == 0) return take_number(rest) ? std::optional(field) : std::nullopt;
  if (type != 1 && type != 2 && type != 5) return {};
  const auto size = type == 2 ? take_number(rest) : std::optional<std::uint64_t>(type == 1 ? 8 : 4);
  if (!size || *size > rest.size()) return {};
  if (type == 2) field.bytes = rest.substr(0, *size);
  rest.remove_prefix(*size);
  return field;
}

/// Calls `check` for each field with this number that has bytes; false: a check failed, or
/// something is damaged.
template <class Check>
bool all_fields(std::string_view message, std::uint64_t number, const Check& check) {
  while (!message.empty()) {
    const auto field = take_field(message);
    if (!field || (field->number == number && !check(field->bytes))) return false;
  }
  return true;
}

/// SentencePiece ends the process when a piece has a zero byte in it, so it must not see one.
bool has_sound_pieces(std::string_view model) {
  return all_fields(model, 1, [](std::string_view piece) {
    return all_fields(piece, 1, [](std::string_view text) { return text.find('\0') == text.npos; });
  });
}

std::vector<int> narrow(std::span<const std::int64_t> ids) { return {ids.begin(), ids.end()}; }

}  // namespace

std::string train_subwords(std::span<const std::string> lines, const SubwordOptions& options) {
  const bool characters = options.kind == "characters";
  HEED_CHECK(characters || options.kind == "bpe" || options.kind == "unigram",
             "subwords: no kind '{}'; one of bpe, unigram, characters", options.kind);
  HEED_CHECK(!lines.empty(), "subwords: no text to learn from");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    HEED_CHECK(!invalid_utf8(lines[i]), "subwords: line {} is not UTF-8", i + 1);
  }
  // One thread and all lines: the pieces then depend on nothing but the text.
  const std::unordered_map<std::string, std::string> settings = {
      {"model_type", characters ? "char" : options.kind},
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
  const bool loaded =
      has_sound_pieces(model) && model_->LoadFromSerializedProto({model.data(), model.size()}).ok();
  HEED_CHECK(loaded && model_->GetPieceSize() > 0,
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
