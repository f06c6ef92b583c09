#pragma once
#include <string>

namespace heed::serve {

/// The page, for one response: scripts and styles run only with its nonce.
std::string page_html(const std::string& nonce);

}  // namespace heed::serve
