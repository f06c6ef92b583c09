// What numbers words: our vocabularies (a), BERT's vocab.txt (b), SentencePiece models (c), each
// then asked about the words of a second file; and Unicode itself (d).
#include "fuzz/input.hpp"
#include "heed/base/words.hpp"
#include "heed/data/segmenter.hpp"
#include "heed/data/unicode.hpp"
#include "heed/data/vocabulary.hpp"
#include "heed/data/wordpiece.hpp"

namespace {

using namespace heed;
using Words = std::vector<std::string>;

void ask_vocabulary(std::string_view text, const Words& words) {
  const Vocabulary vocabulary = Vocabulary::from_json(text, "fuzzed");
  for (const std::int64_t id : vocabulary.ids(words)) vocabulary.word(id);
  fuzz::require(Vocabulary::from_json(vocabulary.to_json(), "again") == vocabulary,
                "a vocabulary does not change when it is written and read");
}

void ask_wordpiece(std::string_view text, const Words& words) {
  const WordPiece pieces(fuzz::folder().write("vocab.txt", text));
  const Pieces cut = pieces.pieces(words);
  fuzz::require(cut.words.size() == words.size(), "every word has pieces");
  for (const auto& [begin, end] : cut.words)
    fuzz::require(begin < end && end <= cut.ids.size(), "a word's pieces are there");
  for (const Pieces& run : pieces.runs(words, 5))
    fuzz::require(run.ids.size() <= 5, "a run is no longer than asked");
}

void ask_subwords(std::string_view model, const Words& words) {
  const Segmenter segmenter(std::string(model), "fuzzed");
  const std::vector<std::size_t> places = segmenter.places(words);
  fuzz::require(places.size() == words.size() + 1, "every word has a place");
  fuzz::require(places.back() == segmenter.cut(words).size(), "places end where the pieces do");
}

void ask_unicode(std::string_view text) {
  const std::u32string points = unicode::code_points(text);
  std::string again;
  for (const char32_t point : points) {
    unicode::append_utf8(again, point);
    unicode::fold(point);
  }
  fuzz::require(again == text, "text does not change on its way through code points");
  fuzz::require(characters(text).size() == points.size(), "a character is a code point");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  fuzz::accepted([&] {
    const Words words = split_words(input.file(1));
    if (invalid_utf8(input.file(1))) return;  // readers see to that before words are asked about
    switch (input.choose(4)) {
      case 0:
        ask_vocabulary(input.file(0), words);
        break;
      case 1:
        ask_wordpiece(input.file(0), words);
        break;
      case 2:
        ask_subwords(input.file(0), words);
        break;
      default:
        ask_unicode(input.file(0));
    }
  });
  return 0;
}
