#include "train/trace_shapes.hpp"

#include <numeric>

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

/// Positions of an input of the line; 0: it is not shown.
std::size_t shown_length(const Json& line, const std::string& input) {
  const auto found = line["inputs"].find(input);
  return found == line["inputs"].end() ? 0 : found->size();
}

void add_levels(Json& line, const Example& example) {
  for (const auto& [input, levels] : example.levels) {
    if (levels.empty()) continue;
    const auto total =
        static_cast<std::size_t>(std::reduce(levels[0].begin(), levels[0].end(), std::int64_t{0}));
    if (total > 0 && shown_length(line, input) == total) line["levels"][input] = levels[0];
  }
}

void add_views(Json& line, const Example& example) {
  for (const auto& [name, view] : example.views) {
    if (line["inputs"].contains(view.of))
      line["views"][name] = {{"of", view.of}, {"begin", view.begin}, {"end", view.end}};
  }
}

}  // namespace

void add_shapes(Json& line, const DataInfo& /*info*/, const Example& example) {
  add_levels(line, example);
  add_views(line, example);
}

}  // namespace heed
