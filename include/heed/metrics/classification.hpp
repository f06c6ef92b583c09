#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/metrics/metric.hpp"

namespace heed::metrics {

/// How the classes' scores become one: their mean, one score of the pooled counts, their mean
/// weighted by the classes' gold counts, or the score of one class.
enum class Average { macro, micro, weighted, binary };

struct ClassificationOptions {
  Average average = Average::macro;
  std::string positive = {};  ///< the class of Average::binary; any other label counts as negative
  /// Classes to average over, beside those that occur; a class that never occurs scores 0.
  std::vector<std::string> labels = {};
};

/// The share of equal labels. 0 for no labels at all.
Metric accuracy(std::span<const std::string> predicted, std::span<const std::string> gold);

/// The share of what was predicted that is right, of what is gold that was found, and their
/// harmonic mean (van Rijsbergen 1979), per class, averaged over the labels of both lists.
///
/// A zero denominator gives 0, as in scikit-learn, and so do empty lists. InputError for lists of
/// unequal length. Details: all three at the chosen average, `accuracy`, and `f1[label]`,
/// `support[label]` … of each class (the first 1000 classes in order of their names).
Metric precision(std::span<const std::string> predicted, std::span<const std::string> gold,
                 const ClassificationOptions& options = {});
Metric recall(std::span<const std::string> predicted, std::span<const std::string> gold,
              const ClassificationOptions& options = {});
Metric f1(std::span<const std::string> predicted, std::span<const std::string> gold,
          const ClassificationOptions& options = {});

/// `macro`, `micro`, `weighted`, `binary`; InputError for anything else.
Average parse_average(std::string_view name);
std::string_view to_string(Average average);

}  // namespace heed::metrics
