#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace heed::cli {

/// This program, run again with other arguments in a process of its own: one generator, one thread
/// pool and one crash apiece.
struct Job {
  std::vector<std::string> arguments;
  std::filesystem::path log = {};  // where its output goes; empty: where ours goes
};

/// Runs jobs, `at_once` at a time. `ended(i, failure)` is called as each ends, with an empty text
/// when it ended well. If it throws, or if this process is killed, the jobs still running are
/// ended.
void run_jobs(const std::vector<Job>& jobs, std::size_t at_once,
              const std::function<void(std::size_t, const std::string&)>& ended);

}  // namespace heed::cli
