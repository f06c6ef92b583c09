#pragma once
#include <string>
#include <vector>

#include "heed/data/example.hpp"

namespace heed::explain {

/// The example with only some positions of one input: the words that are not kept are gone, with
/// their share of the views, sentences and gold attention; an input of numbers keeps its shape,
/// and what is not kept becomes zeros. At least one position stays: the first, when none is kept.
Example with_only(const Example& example, const std::string& input, std::vector<bool> kept);

/// The example without one position.
Example without(const Example& example, const std::string& input, std::size_t position);

}  // namespace heed::explain
