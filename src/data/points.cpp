// Cells of a table that are numbers: points, orders of points, weights.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "data/parts.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

constexpr std::int64_t kPlane = 2;

template <class Number>
std::optional<Number> parse_number(const std::string& word) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return {};
  return value;
}

/// NaN when it is no number, infinity when it is too large; what is too small for a float is 0.
float parse_float(const std::string& word) {
  return static_cast<float>(
      parse_number<double>(word).value_or(std::numeric_limits<double>::quiet_NaN()));
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
      points.data.push_back(parse_float(word));
      HEED_CHECK(!std::isnan(points.data.back()), "{}: '{}' is not a number; x and y are needed",
                 where, word);
      HEED_CHECK(std::isfinite(points.data.back()), "{}: '{}' is not finite; scale the points",
                 where, word);
    }
  }
  return points;
}

std::vector<std::string> parse_order(std::string_view text, std::size_t n,
                                     const std::string& where) {
  std::vector<std::string> order = split_words(text);
  for (const std::string& word : order) {
    const auto place = parse_number<std::uint64_t>(word);
    HEED_CHECK(place, "{}: '{}' is not the number of a point; they count from 0", where, word);
    HEED_CHECK(*place < n, "{}: the order names point {}; there are {}, numbered from 0", where,
               *place, n);
  }
  return order;
}

std::vector<float> parse_weights(std::string_view text, std::size_t tokens,
                                 const std::string& where, std::string_view what) {
  const std::vector<std::string> words = split_words(text);
  const auto is_bit = [](char c) { return c == '0' || c == '1'; };
  if (words.size() == 1 && words[0].size() == tokens && std::ranges::all_of(words[0], is_bit)) {
    std::vector<float> bits;
    for (const char c : words[0]) bits.push_back(c == '1' ? 1.0f : 0.0f);
    return bits;
  }
  HEED_CHECK(words.size() == tokens, "{}: {} has {} number{} for {} token{}; one a token is needed",
             where, what, words.size(), words.size() == 1 ? "" : "s", tokens,
             tokens == 1 ? "" : "s");
  std::vector<float> weights;
  for (const std::string& word : words) {
    const float value = parse_float(word);
    HEED_CHECK(std::isfinite(value) && value >= 0,
               "{}: {} has '{}'; a number of 0 or more is needed, one a token", where, what, word);
    weights.push_back(value);
  }
  return weights;
}

}  // namespace heed
