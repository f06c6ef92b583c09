#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace heed::serve {

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 8017;                ///< 0: any that is free.
  std::string token;              ///< Needed in every request; empty: none, on loopback only.
  std::size_t max_tokens = 2000;  ///< Words of one request.
  std::size_t waiting = 16;       ///< Requests that may wait for the model; more are turned away.
};

/// Loads the runs and serves the live page and its JSON API over HTTP (docs/serve.md) until SIGINT
/// or SIGTERM; what runs then is finished. `listening` is told the page's address when it is ready.
///
/// To be called before the process has other threads: it blocks both signals in all of them.
/// InputError for a run that cannot be loaded, an address that cannot be listened at, and a host
/// beyond loopback without a token.
void serve(std::span<const std::filesystem::path> runs, const ServeOptions& options,
           const std::function<void(const std::string& address)>& listening);

}  // namespace heed::serve
