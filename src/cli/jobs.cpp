#include "cli/jobs.hpp"

#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "heed/base/error.hpp"

extern char** environ;

namespace heed::cli {
namespace {

pid_t start(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  std::string self = "heed";
  argv.push_back(self.data());
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), environ);
  HEED_CHECK(error == 0, "cannot start another process: {}", std::strerror(error));
  return pid;
}

/// The running children; what is still running when it goes is ended.
struct Running {
  std::map<pid_t, std::size_t> jobs;
  ~Running() {
    for (const auto& [pid, job] : jobs) kill(pid, SIGTERM);
    for (const auto& [pid, job] : jobs) waitpid(pid, nullptr, 0);
  }
};

}  // namespace

void run_jobs(const std::vector<std::vector<std::string>>& jobs, std::size_t at_once,
              const std::function<void(std::size_t)>& done) {
  Running running;
  for (std::size_t next = 0; next < jobs.size() || !running.jobs.empty();) {
    while (next < jobs.size() && running.jobs.size() < at_once) {
      running.jobs[start(jobs[next])] = next;
      ++next;
    }
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0 && errno == EINTR) continue;
    const auto job = running.jobs.find(pid);
    if (job == running.jobs.end()) continue;
    const std::size_t index = job->second;
    running.jobs.erase(job);
    // The child has printed its own one-line reason.
    HEED_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "'heed {}' failed{}",
               fmt::join(jobs[index], " "),
               WIFSIGNALED(status) ? fmt::format(" (signal {})", WTERMSIG(status)) : "");
    done(index);
  }
}

}  // namespace heed::cli
