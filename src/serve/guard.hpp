#pragma once
#include <string>
#include <string_view>

#include "heed/serve/serve.hpp"
#include "serve/message.hpp"

namespace heed::serve {

/// True for names and addresses that only this machine can reach.
bool is_loopback(std::string_view host);

/// Who may ask at all.
class Guard {
 public:
  /// InputError for a host beyond loopback without a token.
  explicit Guard(const ServeOptions& options);

  /// Throws Refusal: 403 when the request names a host that is not ours, which is how a page
  /// elsewhere would reach a server on loopback (DNS rebinding); 401 without the token. The page
  /// itself, which a browser opens with no header, may bring it as `?token=`.
  void check(const Ask& ask) const;

 private:
  std::string host_, token_;
};

/// In a time that tells nothing of how much of them is equal.
bool same_secret(std::string_view given, std::string_view secret);

}  // namespace heed::serve
