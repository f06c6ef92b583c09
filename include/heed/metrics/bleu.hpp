#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/metrics/metric.hpp"

namespace heed::metrics {

/// The defaults are sacreBLEU's.
struct BleuOptions {
  std::string tokeniser = "13a";  ///< 13a, none (white space) or char
  bool lowercase = false;
  /// What an order without a match counts as (Chen & Cherry 2014): `exp` 1/2, 1/4 … matches,
  /// `floor` `smooth_value` matches (0.1), `add-k` adds `smooth_value` (1) to orders above one,
  /// `none` nothing.
  std::string smooth = "exp";
  std::optional<double> smooth_value = {};
  std::size_t max_order = 4;
  /// Stop at the highest order the hypotheses have n-grams of; for scores of single sentences.
  bool effective_order = false;
};

/// BLEU (Papineni et al. 2002) of a corpus, 0–100. `references[r][s]` is segment s of reference r.
///
/// Geometric mean of clipped n-gram precisions times the brevity penalty against the closest
/// reference length (the shorter at a tie). Without a single matching word, or with no segments, 0.
/// InputError when a reference has another number of segments, or there is none.
/// Details: `bp`, `ratio`, `hyp_len`, `ref_len`, `precision1` …, `correct1` …, `total1` ….
Metric bleu(std::span<const std::string> hypotheses,
            std::span<const std::vector<std::string>> references, const BleuOptions& options = {});

}  // namespace heed::metrics
