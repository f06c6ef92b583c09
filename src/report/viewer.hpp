#pragma once
#include <string_view>

namespace heed {

/// The built viewer (viewer/dist), embedded at compile time.
std::string_view viewer_js();
std::string_view viewer_css();

}  // namespace heed
