#pragma once
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>

namespace heed::serve {

/// Bytes of a body; longer ones are refused before they are kept.
constexpr std::size_t kMostBytes = 1 << 20;

/// A request, as far as we look at it; who speaks HTTP fills it in.
struct Ask {
  std::string method, path, body;
  std::string host;           // the header, once
  std::string content_type;   // the header
  std::string authorization;  // the header
  std::string token;          // of the query
};

struct Answer {
  int status = 200;
  std::string body;
  std::string type = "application/json; charset=utf-8";
  std::map<std::string, std::string> headers = {};
};

/// A mistake of the client with a status of its own; other mistakes are InputErrors, status 400.
class Refusal : public std::runtime_error {
 public:
  Refusal(int status, const std::string& message) : std::runtime_error(message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

/// {"error": message}.
Answer error_answer(int status, const std::string& message);

}  // namespace heed::serve
