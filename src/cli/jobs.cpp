#include "cli/jobs.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "heed/base/error.hpp"

namespace heed::cli {
namespace {

constexpr int kNotStarted = 127;

/// In the new process: nothing here may allocate, since another thread of the old one may have held
/// the allocator's lock.
[[noreturn]] void become(char** argv, int log, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);             // a run that nobody waits for must not go on
  if (getppid() != parent) _exit(kNotStarted);  // it was killed before the line above
  if (log >= 0) {
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
  }
  execv("/proc/self/exe", argv);
  _exit(kNotStarted);
}

pid_t start_process(const Job& job) {
  std::vector<std::string> copies = job.arguments;
  std::string self = "heed";
  std::vector<char*> argv = {self.data()};
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int log = -1;
  if (!job.log.empty()) {
    log = open(job.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    HEED_CHECK(log >= 0, "{}: cannot be written: {}", job.log.string(), std::strerror(errno));
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(argv.data(), log, parent);
  const int error = errno;
  if (log >= 0) close(log);
  HEED_CHECK(pid > 0, "cannot start another process: {}", std::strerror(error));
  return pid;
}

std::string failure_of(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) == 0) return "";
  if (WEXITSTATUS(status) == kNotStarted) return "could not be started";
  return fmt::format("ended with code {}", WEXITSTATUS(status));
}

}  // namespace

Jobs::~Jobs() {
  for (const auto& [pid, index] : running_) kill(pid, SIGTERM);
  for (const auto& [pid, index] : running_) waitpid(pid, nullptr, 0);
}

void Jobs::start(std::size_t index, const Job& job) { running_[start_process(job)] = index; }

std::optional<Jobs::Ended> Jobs::poll() { return next(WNOHANG); }

std::optional<Jobs::Ended> Jobs::next(int flags) {
  while (!running_.empty()) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, flags);
    if (pid == 0) break;
    const auto job = running_.find(pid);  // nobody's when interrupted
    if (job == running_.end()) continue;
    const std::size_t index = job->second;
    running_.erase(job);
    return Ended{index, failure_of(status)};
  }
  return std::nullopt;
}

void run_jobs(const std::vector<Job>& jobs, std::size_t at_once,
              const std::function<void(std::size_t, const std::string&)>& ended) {
  Jobs running;
  for (std::size_t next = 0; next < jobs.size() || running.running() > 0;) {
    while (next < jobs.size() && running.running() < at_once) {
      running.start(next, jobs[next]);
      ++next;
    }
    if (const auto job = running.wait()) ended(job->index, job->failure);
  }
}

}  // namespace heed::cli
