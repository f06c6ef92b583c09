#pragma once
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heed::cli {

/// This program, run again with other arguments in a process of its own: one generator, one thread
/// pool and one crash apiece.
struct Job {
  std::vector<std::string> arguments;
  std::filesystem::path log = {};  // where its output goes; empty: where ours goes
};

/// Jobs under way. Those still running when it goes, or when this process is killed, are ended.
class Jobs {
 public:
  struct Ended {
    std::size_t index;
    std::string failure;  // empty: it ended well
  };
  Jobs() = default;
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  /// `index` tells the caller later which one has ended.
  void start(std::size_t index, const Job& job);
  std::size_t running() const { return running_.size(); }
  /// One that has ended, after waiting for it; none when none is running.
  std::optional<Ended> wait() { return next(0); }
  /// The same, without waiting.
  std::optional<Ended> poll();

 private:
  std::optional<Ended> next(int flags);
  std::map<pid_t, std::size_t> running_;
};

/// Runs jobs, `at_once` at a time. `ended(i, failure)` is called as each ends, with an empty text
/// when it ended well. If it throws, or if this process is killed, the jobs still running are
/// ended.
void run_jobs(const std::vector<Job>& jobs, std::size_t at_once,
              const std::function<void(std::size_t, const std::string&)>& ended);

}  // namespace heed::cli
