#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heed {

/// Words and a vector for each, as other programs publish them.
struct WordTable {
  std::vector<std::string> words;
  std::vector<float> values;  ///< [words, width]
  std::size_t width = 0;
  std::size_t repeated = 0;  ///< Words that came again; the first of each is kept.
};

struct WordTableOptions {
  std::size_t limit = 0;  ///< Words kept, from the top; 0 = all.
  /// Called now and then with the number of words read so far.
  std::function<void(std::size_t words)> progress;
};

/// GloVe's or word2vec's text, gzip or not: a word and its numbers on a line, between spaces; a
/// first line "WORDS WIDTH" is passed over. InputError "FILE:LINE: …" on a row of another width,
/// what is no finite number, broken UTF-8, a NUL byte, damaged gzip, or no row.
WordTable read_word_table(const std::filesystem::path& file, const WordTableOptions& options = {});

/// The JSON of wink's packages ({"dimensions": D, "vectors": {"word": [D numbers, …]}}), read as a
/// stream. What follows the D numbers of a word (its norm and rank) is left out. "dimensions"
/// stands once, before "vectors"; InputError "FILE:1: …" for anything else.
WordTable read_wink_table(const std::filesystem::path& file, const WordTableOptions& options = {});

/// The known words whose mean stands for `word`; empty when there is none.
///
/// In this order, the first that is known: the word; in lower case; its stand-in (pieces that
/// tokenisers split off and published tables lack: "n't" → not, "'s" → is, "a" → an, "i" → me,
/// quotes, brackets and dashes in other spellings); a number by its words ("12" → twelve, "45" →
/// forty five, larger ones → hundred, thousand, million); without the punctuation around it
/// ("!!!" → !); its parts at hyphens, slashes, apostrophes and between digits and letters, as many
/// of them as are known.
std::vector<std::string> stand_ins(std::string_view word,
                                   const std::function<bool(std::string_view)>& known);

}  // namespace heed
