// Loaded before the C library (LD_PRELOAD): makes one of a process's system calls on files go
// wrong.
//
//   HEED_FAULT_ROOT  only calls on paths that start with it count, from 1
//   HEED_FAULT       AT:WHAT, as 12:kill (the process dies instead of call 12), 7:28 (call 7 fails
//                    with errno 28), 5:short (a write takes half of its bytes); empty: nothing
//   HEED_FAULT_LOG   a file to which every counted call is added, "NAME PATH"
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));  // NOLINT
}

class Faults {
 public:
  /// What the call is to do: 0 go on, an errno to fail with, or kShort.
  static constexpr int kShort = -1;

  int count(const char* name, const std::string& path) {
    if (root_.empty() || !path.starts_with(root_)) return 0;
    const int number = ++calls_;
    log(name, path);
    if (number != at_) return 0;
    if (what_ == "kill") kill(getpid(), SIGKILL);
    return what_ == "short" ? kShort : std::atoi(what_.c_str());
  }

  void opened(int fd, const std::string& path) {
    if (root_.empty() || !path.starts_with(root_)) return;
    const std::lock_guard lock(mutex_);
    paths_[fd] = path;
  }
  std::string path(int fd) {
    const std::lock_guard lock(mutex_);
    const auto found = paths_.find(fd);
    return found == paths_.end() ? std::string() : found->second;
  }
  void closed(int fd) {
    const std::lock_guard lock(mutex_);
    paths_.erase(fd);
  }

  static Faults& all() {
    static Faults one;
    return one;
  }

 private:
  Faults() : root_(variable("HEED_FAULT_ROOT")), log_(variable("HEED_FAULT_LOG")) {
    const std::string fault = variable("HEED_FAULT");
    const std::size_t colon = fault.find(':');
    if (colon == std::string::npos) return;
    at_ = std::atoi(fault.c_str());
    what_ = fault.substr(colon + 1);
  }
  static std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
  }
  void log(const char* name, const std::string& path) {
    if (log_.empty()) return;
    const std::string line = std::string(name) + " " + path + "\n";
    const int fd = real<int(const char*, int, ...)>("open")(
        log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    real<ssize_t(int, const void*, std::size_t)>("write")(fd, line.data(), line.size());
    real<int(int)>("close")(fd);
  }

  std::string root_, log_, what_;
  int at_ = 0;
  std::atomic<int> calls_ = 0;
  std::mutex mutex_;
  std::map<int, std::string> paths_;
};

/// True when the call must fail now; errno is set.
bool fails(const char* name, const std::string& path) {
  const int fault = Faults::all().count(name, path);
  if (fault > 0) errno = fault;
  return fault > 0;
}

int open_file(const char* name, const char* path, int flags, mode_t mode) {
  const bool counts = (flags & (O_WRONLY | O_RDWR | O_DIRECTORY)) != 0;
  if (counts && fails("open", path)) return -1;
  const int fd = real<int(const char*, int, ...)>(name)(path, flags, mode);
  if (counts && fd >= 0) Faults::all().opened(fd, path);
  return fd;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return open_file("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return open_file("open64", path, flags, mode);
}

ssize_t write(int fd, const void* bytes, std::size_t size) {
  const int fault = Faults::all().count("write", Faults::all().path(fd));
  if (fault > 0) {
    errno = fault;
    return -1;
  }
  const std::size_t taken = fault == Faults::kShort ? (size + 1) / 2 : size;
  return real<ssize_t(int, const void*, std::size_t)>("write")(fd, bytes, taken);
}

int fsync(int fd) {
  if (fails("fsync", Faults::all().path(fd))) return -1;
  return real<int(int)>("fsync")(fd);
}

int close(int fd) {
  const bool failing = fails("close", Faults::all().path(fd));
  const int error = errno;
  Faults::all().closed(fd);
  const int done = real<int(int)>("close")(fd);  // as Linux does, whatever it then returns
  if (failing) errno = error;
  return failing ? -1 : done;
}

int rename(const char* from, const char* to) {
  if (fails("rename", to)) return -1;
  return real<int(const char*, const char*)>("rename")(from, to);
}

int unlink(const char* path) {
  if (fails("unlink", path)) return -1;
  return real<int(const char*)>("unlink")(path);
}

int mkdir(const char* path, mode_t mode) {
  if (fails("mkdir", path)) return -1;
  return real<int(const char*, mode_t)>("mkdir")(path, mode);
}

}  // extern "C"
