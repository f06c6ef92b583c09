#include "cli/jobs.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

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

pid_t start(const Job& job) {
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

/// The running children; what is still running when it goes is ended.
struct Running {
  std::map<pid_t, std::size_t> jobs;
  ~Running() {
    for (const auto& [pid, job] : jobs) kill(pid, SIGTERM);
    for (const auto& [pid, job] : jobs) waitpid(pid, nullptr, 0);
  }
};

}  // namespace

void run_jobs(const std::vector<Job>& jobs, std::size_t at_once,
              const std::function<void(std::size_t, const std::string&)>& ended) {
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
    ended(index, failure_of(status));
  }
}

}  // namespace heed::cli
