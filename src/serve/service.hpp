#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "heed/serve/serve.hpp"
#include "serve/guard.hpp"
#include "serve/message.hpp"
#include "serve/model_thread.hpp"
#include "serve/run.hpp"

namespace heed::serve {

/// The live page, for one response: scripts and styles run only with its nonce.
using Page = std::function<std::string(const std::string& nonce)>;

/// The routes and what they answer. Knows nothing of sockets, nor of models.
class Service {
 public:
  /// InputError for a host beyond loopback without a token.
  Service(const ServeOptions& options, Page page);

  /// Before the first request.
  void add(std::unique_ptr<Run> run) { runs_.push_back(std::move(run)); }

  /// Never throws: mistakes of the client are 4xx with {"error": …}, ours 500. Any thread may call.
  Answer answer(const Ask& ask);

 private:
  Answer route(const Ask& ask);
  Answer page() const;
  Answer runs() const;
  Answer predict(const Ask& ask);
  Run& run(const std::string& name);

  Guard guard_;
  Page page_;
  std::size_t max_tokens_;
  std::vector<std::unique_ptr<Run>> runs_;
  ModelThread model_;  // last: it ends before the runs do
};

/// The API in OpenAPI 3.1.
std::string openapi_json();

}  // namespace heed::serve
