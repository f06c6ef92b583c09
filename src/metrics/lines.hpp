#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "heed/base/error.hpp"
#include "heed/metrics/alignment.hpp"
#include "heed/metrics/ranking.hpp"
#include "heed/metrics/rationale.hpp"

namespace heed::metrics {

/// A file's lines with its name, for messages that say where.
struct Lines {
  std::string file;
  std::vector<std::string> lines;

  std::size_t size() const { return lines.size(); }
  /// `file:line: `, counted from 1.
  std::string place(std::size_t line) const;
};

/// UTF-8 lines without their ends (LF or CRLF) and without a byte order mark. InputError for an
/// empty file or broken UTF-8.
Lines read_lines(const std::filesystem::path& path);

/// InputError unless both have as many lines.
void check_parallel(const Lines& first, const Lines& second);

/// One label a line, without white space round it; an empty line is an error.
std::vector<std::string> parse_labels(const Lines& lines);

/// Numbers between white space. NaN is an error, and so is infinity unless `infinite`.
std::vector<std::vector<double>> parse_numbers(const Lines& lines, bool infinite = false);

/// 0 and 1, between white space or run together ("0110").
std::vector<Marks> parse_marks(const Lines& lines);

/// Marks or weights: a run of 0 and 1 counts as marks when it is as long as the line of `like`.
std::vector<Weights> parse_gold_weights(const Lines& lines, const std::vector<Weights>& like);

std::vector<Alignment> parse_alignments(const Lines& lines, bool gold);

std::vector<Ranking> parse_rankings(const Lines& lines);
std::vector<Relevant> parse_relevant(const Lines& lines, bool graded);

/// InputError unless the documents have as many tokens in both files.
template <class A, class B>
void check_tokens(const Lines& first, const std::vector<A>& a, const Lines& second,
                  const std::vector<B>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    HEED_CHECK(a[i].size() == b[i].size(), "{}{} tokens but {} in {}", first.place(i), a[i].size(),
               b[i].size(), second.file);
  }
}

}  // namespace heed::metrics
