#pragma once
#include <string>
#include <string_view>

namespace heed::metrics {

/// The stem of an English word in lower case, by Porter's algorithm as published (Porter 1980):
/// without his later changes, so words of one or two letters are stemmed too ("as" gives "a").
/// Characters beyond a–z count as consonants.
std::string porter_stem(std::string_view word);

}  // namespace heed::metrics
