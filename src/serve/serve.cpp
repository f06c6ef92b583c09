#include "heed/serve/serve.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "heed/base/error.hpp"
#include "serve/http.hpp"
#include "serve/live_run.hpp"
#include "serve/page.hpp"
#include "serve/service.hpp"

namespace heed::serve {
namespace {

/// SIGINT and SIGTERM for one thread to wait for, instead of a handler in which little is allowed.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);  // threads made from now on inherit it
  }
  void wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
  }

 private:
  sigset_t set_{};
};

std::string run_name(const std::filesystem::path& folder) {
  const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

/// The runs under the names of their folders; of two with one name the second is "name (2)".
void add_runs(Service& service, std::span<const std::filesystem::path> folders,
              std::size_t max_tokens) {
  HEED_CHECK(!folders.empty(), "serve: at least one run directory is needed");
  std::vector<std::string> names;
  for (const auto& folder : folders) {
    const std::string base = run_name(folder);
    std::string name = base;
    for (int k = 2; std::ranges::find(names, name) != names.end(); ++k)
      name = fmt::format("{} ({})", base, k);
    names.push_back(name);
    service.add(std::make_unique<LiveRun>(folder, name, max_tokens));
  }
}

std::string address_of(const ServeOptions& options, int port) {
  const bool v6 = options.host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/", v6 ? "[" : "", options.host, v6 ? "]" : "", port);
}

}  // namespace

void serve(std::span<const std::filesystem::path> runs, const ServeOptions& options,
           const std::function<void(const std::string& address)>& listening) {
  const EndSignals signals;
  Service service(options, page_html);
  add_runs(service, runs, options.max_tokens);
  HttpServer server([&](const Ask& ask) { return service.answer(ask); }, options);
  const int port = server.bind();
  std::thread waiter([&] {
    signals.wait();
    server.stop();
  });
  listening(address_of(options, port));
  try {
    server.listen();
  } catch (...) {
    pthread_kill(waiter.native_handle(), SIGTERM);
    waiter.join();
    throw;
  }
  waiter.join();
}

}  // namespace heed::serve
