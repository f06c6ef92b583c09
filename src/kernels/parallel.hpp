#pragma once
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace heed::kernels {

/// Hands out 0 .. count - 1 in increasing order, each once, to any number of threads.
class WorkQueue {
 public:
  explicit WorkQueue(std::int64_t count) : count_(count) {}
  bool next(std::int64_t& item) {
    item = next_.fetch_add(1, std::memory_order_relaxed);
    return item < count_;
  }
  std::int64_t count() const { return count_; }

 private:
  std::atomic<std::int64_t> next_{0};
  std::int64_t count_;
};

/// Runs `worker()` in each thread of the OpenMP pool, or in this one when there is little to share.
///
/// `work` counts multiply-adds: waking a thread costs as much as some hundred thousand of them.
template <class Worker>
void run_workers(std::int64_t items, double work, const Worker& worker) {
  constexpr double kWorthAThread = 2e5;
  const auto useful = static_cast<std::int64_t>(std::min(work / kWorthAThread, 1e6)) + 1;
  const auto threads =
      static_cast<int>(std::min({std::int64_t{omp_get_max_threads()}, items, useful}));
  if (threads <= 1) {
    if (items > 0) worker();
    return;
  }
#pragma omp parallel num_threads(threads)
  worker();
}

}  // namespace heed::kernels
