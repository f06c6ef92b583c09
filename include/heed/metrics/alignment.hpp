#pragma once
#include <compare>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/metrics/metric.hpp"

namespace heed::metrics {

/// Source word `source` and target word `target` translate each other; both count from 0.
struct Link {
  std::uint32_t source = 0, target = 0;
  auto operator<=>(const Link&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14
};

/// The links of one sentence pair, sorted and without repetition. A link may stand in both lists:
/// it is then sure. Only gold alignments have possible links.
struct Alignment {
  std::vector<Link> sure, possible;
};

/// One line of a Pharaoh file: `i-j` sure, `i?j` possible, between white space. An empty line is a
/// pair without links. InputError quotes the first token that is no link.
Alignment parse_pharaoh(std::string_view line);
/// The same, back: sure links, then possible ones, without a line end.
std::string to_pharaoh(const Alignment& alignment);
/// All lines of a file; only `gold` ones may have possible links. InputError "FILE:LINE: …".
std::vector<Alignment> read_pharaoh(const std::filesystem::path& file, bool gold);

/// Alignment error rate (Och & Ney 2003), 1 − (|A∩S| + |A∩P|) / (|A| + |S|) with P ⊇ S, counts
/// summed over the corpus. A is `sure` of the hypotheses.
///
/// With |A| + |S| = 0 nothing is wrong: 0. Details: `precision` |A∩P|/|A|, `recall` |A∩S|/|S| (for
/// a zero denominator 0, or 1 when both A and S are empty), `f1`, and the counts.
Metric aer(std::span<const Alignment> hypotheses, std::span<const Alignment> gold);

}  // namespace heed::metrics
