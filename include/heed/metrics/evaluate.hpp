#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/metrics/metric.hpp"

namespace heed::metrics {

/// Files and options of one measurement, named as on the command line. Only those that
/// `catalogue()` lists for the metric may be set.
struct MetricRequest {
  std::string name;

  std::filesystem::path hyp = {};                ///< one segment or alignment a line
  std::vector<std::filesystem::path> refs = {};  ///< parallel to hyp
  std::filesystem::path pred = {}, gold = {};    ///< labels, marks, weights or items a line; masks
  std::filesystem::path logprobs = {};           ///< natural logs of one segment a line
  std::vector<std::filesystem::path> a = {}, b = {};  ///< PNG
  /// Another system's hyp, pred or logprobs: adds the paired bootstrap (1000 resamples if
  /// `bootstrap` is not set).
  std::filesystem::path other = {};

  std::optional<std::string> average = {}, positive = {};
  std::vector<std::string> labels = {};
  std::optional<std::string> variant = {};    ///< meteor: nltk; ssim: gaussian
  std::optional<std::string> mode = {};       ///< per: pi; ndcg: graded (items as item:gain)
  std::optional<std::string> tokeniser = {};  ///< bleu, meteor: 13a, none, char
  std::optional<std::string> smooth = {};
  std::optional<double> smooth_value = {}, threshold = {};
  std::optional<std::size_t> max_order = {}, k = {};  ///< k: 10 unless set, also as in `hr@5`
  bool lowercase = false, effective_order = false;
  std::filesystem::path wordnet = {};  ///< folder; otherwise where WordNet::find looks
  bool no_wordnet = false;             ///< no synonym stage, even if WordNet is there

  bool segments = false;      ///< also the metric of each segment alone
  std::size_t bootstrap = 0;  ///< resamples of the interval; 0: none
  std::uint64_t seed = 1;
  double confidence = 0.95;
};

/// What a metric needs and takes: the member names of MetricRequest with `-` for `_`, `ref` for
/// refs.
struct MetricInfo {
  std::string_view name, title, paper;
  std::vector<std::string> files, options;
};
std::span<const MetricInfo> catalogue();

/// Reads, checks, computes. InputError, one line, with FILE:LINE where there is one, for an unknown
/// name or option, a missing, empty or malformed file, unequal line counts, NaN, and for a label
/// that stands in one file only (set `labels` if it is meant to).
///
/// Lines end in LF or CRLF; a byte order mark is skipped; text must be UTF-8.
Metric evaluate_files(const MetricRequest& request);

/// `{"name": …, "value": …, "signature": …, "details": {…}}` on one line, and `"segments": […]`
/// behind them when these were asked for. Infinity is written 1e999,
/// which is a JSON number and read as infinity by Python and JavaScript.
std::string to_json(const Metric& metric);

}  // namespace heed::metrics
