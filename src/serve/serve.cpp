#include "heed/serve/serve.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <csignal>
#include <thread>

#include "serve/http.hpp"
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

std::string address_of(const ServeOptions& options, int port) {
  const bool v6 = options.host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/", v6 ? "[" : "", options.host, v6 ? "]" : "", port);
}

}  // namespace

void serve(std::span<const std::filesystem::path> runs, const ServeOptions& options,
           const std::function<void(const std::string& address)>& listening) {
  const EndSignals signals;
  Service service(runs, options);
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
