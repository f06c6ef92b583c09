#include "metrics/lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"

namespace heed::metrics {
namespace {

double parse_number(const Lines& lines, std::size_t line, std::string_view token, bool infinite) {
  std::string_view digits = token;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  // Out of range means too small or too large to hold; both read as the nearest double would.
  const bool tiny = error == std::errc::result_out_of_range;
  HEED_CHECK((error == std::errc{} || tiny) && end == digits.data() + digits.size(),
             "{}'{}' is no number", lines.place(line), token);
  if (tiny) number = std::strtod(std::string(digits).c_str(), nullptr);
  HEED_CHECK(!std::isnan(number), "{}NaN is no value to measure", lines.place(line));
  HEED_CHECK(infinite || std::isfinite(number), "{}'{}' is not finite", lines.place(line), token);
  return number;
}

bool is_mark_run(std::string_view text) {
  return !text.empty() && text.find_first_not_of("01") == std::string_view::npos;
}

}  // namespace

std::string Lines::place(std::size_t line) const { return fmt::format("{}:{}: ", file, line + 1); }

Lines read_lines(const std::filesystem::path& path) {
  std::string text = read_file(path);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  HEED_CHECK(!text.empty(), "{}: is empty, one segment a line is needed", path.string());
  if (text.ends_with('\n')) text.pop_back();
  Lines result{.file = path.string(), .lines = split(text, '\n')};
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::string& line = result.lines[i];
    if (line.ends_with('\r')) line.pop_back();
    const auto broken = invalid_utf8(line);
    HEED_CHECK(!broken, "{}byte {} is not valid UTF-8", result.place(i), *broken + 1);
  }
  return result;
}

void check_parallel(const Lines& first, const Lines& second) {
  HEED_CHECK(first.size() == second.size(),
             "{} has {} lines but {} has {}; line n of one belongs to line n of the other",
             first.file, first.size(), second.file, second.size());
}

std::vector<std::string> parse_labels(const Lines& lines) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    labels.emplace_back(trim(lines.lines[i]));
    HEED_CHECK(!labels.back().empty(), "{}no label", lines.place(i));
  }
  return labels;
}

std::vector<std::vector<double>> parse_numbers(const Lines& lines, bool infinite) {
  std::vector<std::vector<double>> rows(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string& token : split_words(lines.lines[i])) {
      rows[i].push_back(parse_number(lines, i, token, infinite));
    }
  }
  return rows;
}

std::vector<Marks> parse_marks(const Lines& lines) {
  std::vector<Marks> rows(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> tokens = split_words(lines.lines[i]);
    for (const std::string& token : tokens) {
      HEED_CHECK(is_mark_run(token) && (token.size() == 1 || tokens.size() == 1),
                 "{}'{}' is no mark; 0 or 1 a token is needed", lines.place(i), token);
      for (const char mark : token) rows[i].push_back(mark == '1');
    }
  }
  return rows;
}

std::vector<Weights> parse_gold_weights(const Lines& lines, const std::vector<Weights>& like) {
  std::vector<Weights> rows(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> tokens = split_words(lines.lines[i]);
    if (tokens.size() == 1 && is_mark_run(tokens[0]) && tokens[0].size() == like[i].size()) {
      for (const char mark : tokens[0]) rows[i].push_back(mark == '1' ? 1 : 0);
      continue;
    }
    for (const std::string& token : tokens) rows[i].push_back(parse_number(lines, i, token, false));
  }
  return rows;
}

std::vector<Alignment> parse_alignments(const Lines& lines, bool gold) {
  std::vector<Alignment> rows;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    try {
      rows.push_back(parse_pharaoh(lines.lines[i]));
    } catch (const InputError& error) {
      throw InputError(lines.place(i) + error.what());
    }
    HEED_CHECK(gold || rows.back().possible.empty(),
               "{}a possible link (i?j) in a hypothesis; only gold alignments have these",
               lines.place(i));
  }
  return rows;
}

std::vector<Ranking> parse_rankings(const Lines& lines) {
  std::vector<Ranking> rows;
  for (const std::string& line : lines.lines) rows.push_back(split_words(line));
  return rows;
}

std::vector<Relevant> parse_relevant(const Lines& lines, bool graded) {
  std::vector<Relevant> rows(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string& token : split_words(lines.lines[i])) {
      if (!graded) {
        rows[i][token] = 1;
        continue;
      }
      const std::size_t colon = token.rfind(':');
      HEED_CHECK(colon != std::string::npos && colon > 0, "{}'{}' is no item:gain", lines.place(i),
                 token);
      const double gain = parse_number(lines, i, token.substr(colon + 1), false);
      HEED_CHECK(gain >= 0, "{}the gain {} is negative", lines.place(i), gain);
      rows[i][token.substr(0, colon)] = gain;
    }
  }
  return rows;
}

}  // namespace heed::metrics
