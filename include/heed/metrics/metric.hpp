#pragma once
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed::metrics {

/// One measured number, what it was measured with, and the numbers behind it.
///
/// `signature` names every parameter the value depends on, and the version, as in
/// `f1|average:macro|zero:0|v:0.1.0`: two values may be compared when their signatures agree.
struct Metric {
  std::string name = {};
  double value = 0;
  std::string signature = {};
  std::map<std::string, double> details = {};

  /// The same metric on a multiset of segments (lines, documents, users), given by their numbers
  /// below `segments`; what the bootstrap draws from. Owns what it needs. Empty when the metric is
  /// no sum over segments.
  std::function<double(std::span<const std::size_t>)> resample = {};
  std::size_t segments = 0;
  /// The metric of each segment alone, when it was asked for.
  std::vector<double> per_segment = {};
};

/// The version that stands in every signature.
std::string_view version();

using Parameters = std::initializer_list<std::pair<std::string_view, std::string>>;

/// `name|key:value|…|v:version`. A `|` or a control character inside a value becomes `_`.
std::string signature(std::string_view name, Parameters parameters);

/// numerator / denominator, or `otherwise` when the denominator is 0.
constexpr double ratio(double numerator, double denominator, double otherwise = 0) {
  return denominator == 0 ? otherwise : numerator / denominator;
}

/// The harmonic mean of precision and recall, 0 when both are 0.
constexpr double harmonic(double precision, double recall) {
  return ratio(2 * precision * recall, precision + recall);
}

}  // namespace heed::metrics
