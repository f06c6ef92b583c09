#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace heed::metrics {

/// Code points of UTF-8 text; a byte that belongs to no valid character stands for itself.
std::u32string decode(std::string_view text);
void append_utf8(char32_t c, std::string& out);

/// White space as Unicode (and Python) sees it, the ASCII separators 1C to 1F included.
bool is_space(char32_t c);

/// Unicode lower case, with İ and the final sigma as the standard has them.
std::string lower_utf8(std::string_view text);

/// The words between runs of Unicode white space.
std::vector<std::string> split_unicode(std::string_view text);

/// The words between spaces. A run of white space counts as one space, but a lone tab or no-break
/// space is part of a word: jiwer's rule, so that WER agrees with it.
std::vector<std::string> split_spaces(std::string_view text);

/// The tokens of NIST's mteval-v13a, sacreBLEU's default.
std::vector<std::string> tokenise_13a(std::string_view text);

/// Every character but white space is a token.
std::vector<std::string> tokenise_characters(std::string_view text);

/// By name: 13a, none (split_unicode), char. InputError for another name.
std::vector<std::string> tokenise(std::string_view text, std::string_view tokeniser);

}  // namespace heed::metrics
