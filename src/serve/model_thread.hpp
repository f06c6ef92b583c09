#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace heed::serve {

/// Runs jobs in the order they come, one at a time, on one thread: a model is asked by one request
/// at once, with all its cores, and nobody overtakes (a mutex would let them).
class ModelThread {
 public:
  /// `waiting`: jobs that may wait while one runs.
  explicit ModelThread(std::size_t waiting);
  /// Finishes what it has accepted.
  ~ModelThread();

  /// Waits until the job has run, and throws what it threw. False, at once, when too many wait.
  bool run(std::function<void()> job);

 private:
  void work();

  std::size_t most_;
  bool ended_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> jobs_;
  std::thread thread_;
};

}  // namespace heed::serve
