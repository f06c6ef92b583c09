#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "heed/metrics/metric.hpp"

namespace heed::metrics {

/// One row of sums a segment, from which a corpus metric and its bootstrap are computed: the metric
/// is a function of the column totals.
class SegmentSums {
 public:
  explicit SegmentSums(std::size_t columns) : columns_(columns) {}

  void add(std::span<const double> row) { rows_.insert(rows_.end(), row.begin(), row.end()); }
  void add(std::initializer_list<double> row) { rows_.insert(rows_.end(), row); }
  std::size_t segments() const { return rows_.size() / columns_; }

  std::vector<double> total() const {
    std::vector<double> sums(columns_);
    for (std::size_t i = 0; i < rows_.size(); ++i) sums[i % columns_] += rows_[i];
    return sums;
  }

  std::vector<double> total(std::span<const std::size_t> sample) const {
    std::vector<double> sums(columns_);
    for (const std::size_t segment : sample) {
      for (std::size_t c = 0; c < columns_; ++c) sums[c] += rows_[segment * columns_ + c];
    }
    return sums;
  }

 private:
  std::size_t columns_;
  std::vector<double> rows_;
};

using ValueOfSums = std::function<double(std::span<const double>)>;

/// Sets value, segments and resample of `metric` from `sums`.
inline void finish(Metric& metric, SegmentSums sums, ValueOfSums value) {
  const auto shared = std::make_shared<const SegmentSums>(std::move(sums));
  metric.value = value(shared->total());
  metric.segments = shared->segments();
  metric.resample = [shared, value = std::move(value)](std::span<const std::size_t> sample) {
    return value(shared->total(sample));
  };
}

}  // namespace heed::metrics
