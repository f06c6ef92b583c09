#include "serve/guard.hpp"

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed::serve {
namespace {

/// "[::1]:8017" → "::1", "localhost:8017" → "localhost".
std::string host_name(std::string_view header) {
  if (header.starts_with('[')) return lower(header.substr(1, header.find(']') - 1));
  return lower(header.substr(0, header.find(':')));
}

}  // namespace

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "127.0.0.1";
}

bool same_secret(std::string_view given, std::string_view secret) {
  unsigned different = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    const char c = given.empty() ? '\0' : given[i % given.size()];
    different |= static_cast<unsigned char>(c) ^ static_cast<unsigned char>(secret[i]);
  }
  return different == 0;
}

Guard::Guard(const ServeOptions& options) : host_(lower(options.host)), token_(options.token) {
  HEED_CHECK(is_loopback(host_) || !token_.empty(),
             "serve: --host {} can be reached from other machines; give --token SECRET as well, or "
             "leave --host out",
             options.host);
}

void Guard::check(const Ask& ask) const {
  const std::string asked = host_name(ask.host);
  if (is_loopback(host_) && !is_loopback(asked))
    throw Refusal(403, "the Host header is not this server's; open it as localhost");
  if (token_.empty()) return;
  constexpr std::string_view kBearer = "Bearer ";
  const bool by_header = ask.authorization.starts_with(kBearer) &&
                         same_secret(ask.authorization.substr(kBearer.size()), token_);
  const bool by_query = ask.path == "/" && same_secret(ask.token, token_);
  if (!by_header && !by_query)
    throw Refusal(401,
                  "a token is needed: send 'Authorization: Bearer TOKEN', or open the page as "
                  "/?token=TOKEN");
}

}  // namespace heed::serve
