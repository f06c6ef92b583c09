#pragma once
#include <memory>
#include <span>
#include <vector>

#include "heed/serve/serve.hpp"
#include "serve/guard.hpp"
#include "serve/live_run.hpp"
#include "serve/message.hpp"
#include "serve/model_thread.hpp"

namespace heed::serve {

/// The routes and what they answer. Knows nothing of sockets.
class Service {
 public:
  /// Loads the runs; InputError when one cannot be.
  Service(std::span<const std::filesystem::path> folders, const ServeOptions& options);

  /// Never throws: mistakes of the client are 4xx with {"error": …}, ours 500. Any thread may call.
  Answer answer(const Ask& ask);

 private:
  Answer route(const Ask& ask);
  Answer runs() const;
  Answer predict(const Ask& ask);
  LiveRun& run(const std::string& name);

  Guard guard_;
  std::size_t max_tokens_;
  std::vector<std::unique_ptr<LiveRun>> runs_;
  ModelThread model_;  // last: it ends before the runs do
};

/// The page, for one response: scripts and styles run only with its nonce.
std::string page_html(const std::string& nonce);

/// The API in OpenAPI 3.1.
std::string openapi_json();

}  // namespace heed::serve
