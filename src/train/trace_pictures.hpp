#pragma once
#include <string>
#include <vector>

#include "heed/data/example.hpp"

namespace heed {

/// The pictures of an input, one a frame, as data URLs of PNG files of at most 200 pixels a side.
/// `grid` as in InputInfo: the position of a pixel, of which up to four numbers are its channels
/// and a square number above that a patch of grey ones. Empty: the numbers are no picture.
std::vector<std::string> picture_urls(const std::vector<std::int64_t>& grid, const Values& values);

}  // namespace heed
