#include "metrics/text.hpp"

#include <array>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed::metrics {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_point(char c) { return c == '.' || c == ','; }

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// ASCII symbols that always stand alone. The gaps are the apostrophe, comma, hyphen and full stop.
bool is_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

/// Inserts spaces wherever two neighbours satisfy `match`. Pairs are taken from the left and do
/// not overlap, like the substitutions of a regular expression; the result depends on it ("a..b").
template <class Match>
std::string space_pairs(const std::string& text, std::string_view before, std::string_view between,
                        std::string_view after, Match match) {
  std::string out;
  out.reserve(text.size() * 2);
  std::size_t i = 0;
  while (i + 1 < text.size()) {
    if (!match(text[i], text[i + 1])) {
      out += text[i++];
      continue;
    }
    out += before;
    out += text[i];
    out += between;
    out += text[i + 1];
    out += after;
    i += 2;
  }
  if (i < text.size()) out += text[i];
  return out;
}

template <class Separator>
std::vector<std::string> split_at(std::u32string_view text, Separator separator) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char32_t c : text) {
    if (separator(c)) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    append_utf8(c, words.back());
  }
  return words;
}

}  // namespace

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

std::u32string decode(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length == 1 || invalid_utf8(text.substr(i, length))) {
      out += first;
      ++i;
      continue;
    }
    char32_t c = first & (0xFFu >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
      c = (c << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    }
    out += c;
    i += length;
  }
  return out;
}

void append_utf8(char32_t c, std::string& out) {
  const auto byte = [&](char32_t value) { out += static_cast<char>(value); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | (c >> 6));
    byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | (c >> 12));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | (c >> 18));
    byte(0x80 | ((c >> 12) & 0x3F));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  }
}

std::vector<std::string> split_unicode(std::string_view text) {
  return split_at(decode(text), is_space);
}

std::vector<std::string> split_spaces(std::string_view text) {
  const std::u32string points = decode(text);
  std::u32string clean;
  for (std::size_t i = 0; i < points.size();) {
    std::size_t end = i;
    while (end < points.size() && is_space(points[end])) ++end;
    const bool at_edge = i == 0 || end == points.size();
    if (end - i > 1 || (end > i && at_edge)) {
      clean += U' ';
      i = end;
    } else {
      clean += points[i++];
    }
  }
  return split_at(clean, [](char32_t c) { return c == U' '; });
}

std::vector<std::string> tokenise_13a(std::string_view text) {
  std::string line(text);
  replace_all(line, "<skipped>", "");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  std::string spaced = " ";
  for (const char c : line + ' ') {
    if (is_symbol(c)) {
      spaced += {' ', c, ' '};
    } else {
      spaced += c;
    }
  }
  // On bytes: a byte of a longer character is no digit and no point, so nothing is split inside it.
  spaced =
      space_pairs(spaced, "", " ", " ", [](char a, char b) { return !is_digit(a) && is_point(b); });
  spaced =
      space_pairs(spaced, " ", " ", "", [](char a, char b) { return is_point(a) && !is_digit(b); });
  spaced =
      space_pairs(spaced, "", " ", " ", [](char a, char b) { return is_digit(a) && b == '-'; });
  return split_unicode(spaced);
}

std::vector<std::string> tokenise_characters(std::string_view text) {
  std::vector<std::string> tokens;
  for (const char32_t c : decode(text)) {
    if (!is_space(c)) append_utf8(c, tokens.emplace_back());
  }
  return tokens;
}

std::vector<std::string> tokenise(std::string_view text, std::string_view tokeniser) {
  if (tokeniser == "13a") return tokenise_13a(text);
  if (tokeniser == "none") return split_unicode(text);
  if (tokeniser == "char") return tokenise_characters(text);
  static const std::vector<std::string> kKnown = {"13a", "none", "char"};
  throw InputError(
      fmt::format("unknown tokeniser '{}'{}", tokeniser, suggestion(tokeniser, kKnown)));
}

}  // namespace heed::metrics
