#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heed::dist {

/// Something under way between ranks; the memory it was given stays as it is until it is done.
class Work {
 public:
  virtual ~Work() = default;
  /// Drives it on, without waiting; true once it is done.
  virtual bool done() = 0;
  virtual void wait() = 0;
};

/// Processes that work on one thing, on one machine or several. All ranks make the same calls in
/// the same order, but for `exchange`, which is between the ranks it names.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Starts to add up `values` over all ranks, in place. Every rank ends with the same bits.
  virtual std::unique_ptr<Work> sum(std::span<float> values) = 0;
  virtual std::unique_ptr<Work> sum(std::span<double> values) = 0;
  virtual std::unique_ptr<Work> sum(std::span<std::int64_t> values) = 0;
  /// Starts to send `out` to one rank and to fill `in` from another.
  virtual std::unique_ptr<Work> exchange(std::span<const std::byte> out, int to,
                                         std::span<std::byte> in, int from) = 0;
  /// What every rank gave, in order of ranks, at every rank.
  virtual std::vector<std::string> gather(const std::string& mine) = 0;

  bool first() const { return rank() == 0; }
};

/// This process by itself: sums and gathers are what it gave.
Group& alone();

}  // namespace heed::dist
