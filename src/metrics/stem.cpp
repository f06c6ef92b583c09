#include "heed/metrics/stem.hpp"

#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "metrics/text.hpp"

namespace heed::metrics {
namespace {

using Letters = std::u32string_view;
using Rule = std::pair<Letters, Letters>;  // suffix, replacement

/// True for each consonant: no a, e, i, o, u, and no y after a consonant.
std::vector<bool> consonants(Letters word) {
  std::vector<bool> flags;
  for (const char32_t c : word) {
    const bool vowel = Letters(U"aeiou").find(c) != Letters::npos;
    flags.push_back(c == U'y' ? flags.empty() || !flags.back() : !vowel);
  }
  return flags;
}

/// How often a vowel is followed by a consonant: m in [C](VC)^m[V].
int measure(Letters stem) {
  const std::vector<bool> flags = consonants(stem);
  int m = 0;
  for (std::size_t i = 1; i < flags.size(); ++i) m += flags[i] && !flags[i - 1];
  return m;
}

bool has_vowel(Letters stem) {
  for (const bool consonant : consonants(stem)) {
    if (!consonant) return true;
  }
  return false;
}

bool ends_double_consonant(Letters word) {
  const std::size_t n = word.size();
  return n >= 2 && word[n - 1] == word[n - 2] && consonants(word).back();
}

/// The paper's *o: consonant, vowel, consonant other than w, x, y.
bool ends_cvc(Letters word) {
  const std::size_t n = word.size();
  if (n < 3 || Letters(U"wxy").find(word[n - 1]) != Letters::npos) return false;
  const std::vector<bool> flags = consonants(word);
  return flags[n - 3] && !flags[n - 2] && flags[n - 1];
}

/// Applies the first rule whose suffix fits, if its stem satisfies `condition`. Longer suffixes
/// stand before the shorter ones they end in.
template <class Condition>
void apply(std::u32string& word, std::initializer_list<Rule> rules, Condition condition) {
  for (const auto& [suffix, replacement] : rules) {
    if (!word.ends_with(suffix)) continue;
    const Letters stem = Letters(word).substr(0, word.size() - suffix.size());
    if (condition(stem, suffix)) word = std::u32string(stem).append(replacement);
    return;
  }
}

bool long_enough(Letters stem, Letters) { return measure(stem) > 0; }

void step_1b(std::u32string& word) {
  if (word.ends_with(U"eed")) return apply(word, {{U"eed", U"ee"}}, long_enough);
  const std::u32string before = word;
  apply(word, {{U"ed", U""}, {U"ing", U""}}, [](Letters stem, Letters) { return has_vowel(stem); });
  if (word == before) return;
  const bool wants_e = word.ends_with(U"at") || word.ends_with(U"bl") || word.ends_with(U"iz");
  if (!wants_e && ends_double_consonant(word)) {
    if (Letters(U"lsz").find(word.back()) == Letters::npos) word.pop_back();
  } else if (wants_e || (measure(word) == 1 && ends_cvc(word))) {
    word += U'e';
  }
}

void step_5(std::u32string& word) {
  if (word.ends_with(U'e')) {
    const Letters stem = Letters(word).substr(0, word.size() - 1);
    const int m = measure(stem);
    if (m > 1 || (m == 1 && !ends_cvc(stem))) word.pop_back();
  }
  if (word.ends_with(U"ll") && measure(Letters(word).substr(0, word.size() - 1)) > 1)
    word.pop_back();
}

}  // namespace

std::string porter_stem(std::string_view text) {
  std::u32string word = decode(text);
  const auto always = [](Letters, Letters) { return true; };
  apply(word, {{U"sses", U"ss"}, {U"ies", U"i"}, {U"ss", U"ss"}, {U"s", U""}}, always);
  step_1b(word);
  apply(word, {{U"y", U"i"}}, [](Letters stem, Letters) { return has_vowel(stem); });
  apply(word,
        {{U"ational", U"ate"}, {U"tional", U"tion"}, {U"enci", U"ence"},   {U"anci", U"ance"},
         {U"izer", U"ize"},    {U"abli", U"able"},   {U"alli", U"al"},     {U"entli", U"ent"},
         {U"eli", U"e"},       {U"ousli", U"ous"},   {U"ization", U"ize"}, {U"ation", U"ate"},
         {U"ator", U"ate"},    {U"alism", U"al"},    {U"iveness", U"ive"}, {U"fulness", U"ful"},
         {U"ousness", U"ous"}, {U"aliti", U"al"},    {U"iviti", U"ive"},   {U"biliti", U"ble"}},
        long_enough);
  apply(word,
        {{U"icate", U"ic"},
         {U"ative", U""},
         {U"alize", U"al"},
         {U"iciti", U"ic"},
         {U"ical", U"ic"},
         {U"ful", U""},
         {U"ness", U""}},
        long_enough);
  apply(word,
        {{U"al", U""},
         {U"ance", U""},
         {U"ence", U""},
         {U"er", U""},
         {U"ic", U""},
         {U"able", U""},
         {U"ible", U""},
         {U"ant", U""},
         {U"ement", U""},
         {U"ment", U""},
         {U"ent", U""},
         {U"ion", U""},
         {U"ou", U""},
         {U"ism", U""},
         {U"ate", U""},
         {U"iti", U""},
         {U"ous", U""},
         {U"ive", U""},
         {U"ize", U""}},
        [](Letters stem, Letters suffix) {
          if (measure(stem) <= 1) return false;
          return suffix != U"ion" || stem.back() == U's' || stem.back() == U't';
        });
  step_5(word);
  std::string out;
  for (const char32_t c : word) append_utf8(c, out);
  return out;
}

}  // namespace heed::metrics
