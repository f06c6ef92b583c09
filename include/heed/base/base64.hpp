#pragma once
#include <string>
#include <string_view>

namespace heed {

/// Bytes as text (RFC 4648), to stand in JSON and in pages.
std::string base64(std::string_view bytes);

}  // namespace heed
