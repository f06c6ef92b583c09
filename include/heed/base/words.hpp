#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

/// The candidate nearest to `word` by edit distance (swaps of neighbours count one, case is
/// ignored), if it is near enough to be a likely typo.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// "; did you mean 'x'?", or, when nothing is near, "; one of a, b, c" (at most twelve).
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

std::vector<std::string> split(std::string_view text, char separator);
/// The words between runs of white space.
std::vector<std::string> split_words(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trim(std::string_view text);
/// ASCII only; other bytes stay as they are.
std::string lower(std::string_view text);

/// The offset of the first byte that is not valid UTF-8 (overlong forms and surrogates included).
std::optional<std::size_t> invalid_utf8(std::string_view text);

}  // namespace heed
