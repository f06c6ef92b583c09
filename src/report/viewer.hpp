#pragma once
#include <string_view>

namespace heed {

/// The built pages (viewer/dist), embedded at compile time: the report's and the live one's.
std::string_view viewer_js();
std::string_view viewer_css();
std::string_view live_js();
std::string_view live_css();

}  // namespace heed
