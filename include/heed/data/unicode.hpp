#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// The characters (code points) of a word: the finest level of a text. InputError when it is not
/// UTF-8.
std::vector<std::string> characters(std::string_view word);

namespace unicode {

/// The code points of UTF-8 text, and back. InputError when it is not UTF-8.
std::u32string code_points(std::string_view text);
void append_utf8(std::string& text, char32_t point);

/// What a code point is in BERT's basic tokenisation.
///
/// Folding (lower case, accents off: canonical decomposition without its marks) knows Latin with
/// its extensions A, B and Additional, Greek, Cyrillic and kana; other scripts stay as they are.
/// Punctuation is the whole of Unicode's category P in the basic plane, and every printable ASCII
/// character that is no letter, digit or space. Of control characters it knows the C0 and C1
/// controls, the common format characters and private use.
bool is_space(char32_t point);
bool is_control(char32_t point);
bool is_punctuation(char32_t point);
bool is_ideograph(char32_t point);  ///< Chinese characters, each of which is a word of its own.
/// 0 for a mark, which has no place in a folded text.
char32_t fold(char32_t point);

}  // namespace unicode
}  // namespace heed
