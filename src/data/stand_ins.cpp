#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "heed/base/words.hpp"
#include "heed/data/word_table.hpp"

namespace heed {
namespace {

using Known = std::function<bool(std::string_view)>;

/// What tokenisers of English write, and the word that published tables have in its place.
const std::map<std::string, std::string, std::less<>>& spellings() {
  static const std::map<std::string, std::string, std::less<>> kSpellings = {
      {"n't", "not"},      {"n’t", "not"},      {"'s", "is"},     {"’s", "is"},
      {"'re", "are"},      {"’re", "are"},      {"'ve", "have"},  {"’ve", "have"},
      {"'ll", "will"},     {"’ll", "will"},     {"'d", "would"},  {"’d", "would"},
      {"'m", "am"},        {"’m", "am"},        {"a", "an"},      {"i", "me"},
      {"``", "\""},        {"''", "\""},        {"-lrb-", "("},   {"-rrb-", ")"},
      {"-lsb-", "["},      {"-rsb-", "]"},      {"-lcb-", "{"},   {"-rcb-", "}"},
      {"--", "-"},         {"–", "-"},          {"—", "-"},       {"...", "…"},
      {"'", "’"},          {"’", "'"},          {"“", "\""},      {"”", "\""},
      {"can't", "cannot"}, {"can’t", "cannot"}, {"1st", "first"}, {"2nd", "second"},
      {"3rd", "third"},
  };
  return kSpellings;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// "1,234.5" → one thousand; the words are a guide to size, not an exact reading.
std::vector<std::string> number_words(std::string_view text) {
  static constexpr std::array kSmall = {"zero",    "one",     "two",       "three",    "four",
                                        "five",    "six",     "seven",     "eight",    "nine",
                                        "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                        "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  static constexpr std::array kTens = {"",      "",      "twenty",  "thirty", "forty",
                                       "fifty", "sixty", "seventy", "eighty", "ninety"};
  std::string digits(text.substr(0, text.find('.')));
  std::erase(digits, ',');
  if (!all_digits(digits)) return {};
  if (digits.size() > 6) return {"million"};
  std::size_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (number >= 1000) return {"thousand"};
  if (number >= 100) return {"hundred"};
  if (number < kSmall.size()) return {kSmall[number]};
  if (number % 10 == 0) return {kTens[number / 10]};
  return {kTens[number / 10], kSmall[number % 10]};
}

void keep_known(std::vector<std::string>& words, const Known& known) {
  std::erase_if(words, [&](const std::string& word) { return !known(word); });
}

/// All but the last resort, cutting.
std::vector<std::string> whole_word(std::string_view word, const Known& known) {
  if (known(word)) return {std::string(word)};
  const std::string small = lower(word);
  if (known(small)) return {small};
  if (const auto found = spellings().find(small);
      found != spellings().end() && known(found->second)) {
    return {found->second};
  }
  std::vector<std::string> numbers = number_words(small);
  keep_known(numbers, known);
  return numbers;
}

bool is_letter(char c) {  // bytes over 0x7F are parts of letters, or near enough
  return static_cast<unsigned char>(c) > 0x7F || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "don't" → do, n't; "well-known" → well, known; "it's" → it, 's; "16gb" → 16, gb.
std::vector<std::string> parts_of(std::string_view small) {
  std::vector<std::string> parts;
  std::string part;
  const auto flush = [&] {
    if (!part.empty()) parts.push_back(std::move(part));
    part.clear();
  };
  if (small.size() > 3 && small.ends_with("n't")) {
    return {std::string(small.substr(0, small.size() - 3)), "n't"};
  }
  for (const char c : small) {
    if (!is_letter(c) || (!part.empty() && is_digit(c) != is_digit(part.back()))) flush();
    if (is_letter(c) || c == '\'') part += c;
  }
  flush();
  return parts;
}

}  // namespace

std::vector<std::string> stand_ins(std::string_view word, const Known& known) {
  std::vector<std::string> found = whole_word(word, known);
  if (!found.empty()) return found;
  const std::string small = lower(word);
  std::string_view bare = small;
  while (!bare.empty() && !is_letter(bare.front())) bare.remove_prefix(1);
  while (!bare.empty() && !is_letter(bare.back())) bare.remove_suffix(1);
  if (bare.empty() && small.size() > 1) return whole_word(small.substr(0, 1), known);  // "!!!"
  if (found = whole_word(bare, known); !found.empty()) return found;
  for (const std::string& part : parts_of(bare)) {
    std::ranges::copy(whole_word(part, known), std::back_inserter(found));
  }
  return found;
}

}  // namespace heed
