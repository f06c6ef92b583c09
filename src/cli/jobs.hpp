#pragma once
#include <functional>
#include <string>
#include <vector>

namespace heed::cli {

/// Runs this program again with each list of arguments, `at_once` at a time, each in its own
/// process: one generator, one thread pool and one crash apiece. `done(i)` is called as each ends
/// well; the first that fails stops the rest, and its message becomes an InputError.
void run_jobs(const std::vector<std::vector<std::string>>& jobs, std::size_t at_once,
              const std::function<void(std::size_t)>& done);

}  // namespace heed::cli
