#pragma once
#include <functional>
#include <memory>

#include "heed/serve/serve.hpp"
#include "serve/message.hpp"

namespace heed::serve {

/// Speaks HTTP. The only place that knows the library it is done by.
class HttpServer {
 public:
  /// `answer` is called from several threads and must not throw.
  HttpServer(std::function<Answer(const Ask&)> answer, const ServeOptions& options);
  ~HttpServer();

  /// The port it listens at; InputError when the address is taken or not ours.
  int bind();
  /// Answers until `stop`, then finishes what runs.
  void listen();
  /// From any thread.
  void stop();

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  ServeOptions options_;
};

}  // namespace heed::serve
