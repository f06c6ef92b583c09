// Points and orders of points, as cells of a table.
#include <charconv>
#include <cmath>

#include "data/parts.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

constexpr std::int64_t kPlane = 2;

template <class Number>
Number parse_number(const std::string& word, const std::string& where, std::string_view what) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  HEED_CHECK(error == std::errc() && end == word.data() + word.size(), "{}: '{}' is not {}", where,
             word, what);
  return value;
}

}  // namespace

Values parse_points(std::string_view text, const std::string& where) {
  Values points{.width = kPlane};
  std::string lines(text);
  for (char& c : lines) {
    if (c == ';') c = '\n';
  }
  for (const std::string& line : split(lines, '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (words.empty()) continue;
    HEED_CHECK(words.size() == kPlane, "{}: point {} has {} numbers; x and y are needed", where,
               points.length() + 1, words.size());
    for (const std::string& word : words) {
      points.data.push_back(parse_number<float>(word, where, "a number"));
      HEED_CHECK(std::isfinite(points.data.back()), "{}: '{}' is not finite", where, word);
    }
  }
  return points;
}

std::vector<std::string> parse_order(std::string_view text, std::size_t n,
                                     const std::string& where) {
  std::vector<std::string> order = split_words(text);
  for (const std::string& word : order) {
    const auto place = parse_number<std::uint64_t>(word, where, "the number of a point");
    HEED_CHECK(place < n, "{}: the order names point {}; there are {}, numbered from 0", where,
               place, n);
  }
  return order;
}

}  // namespace heed
