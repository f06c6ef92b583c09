#include "train/trace_shapes.hpp"

#include <cmath>
#include <numeric>

#include "train/trace_pictures.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostValues = 20000;  // numbers of one input; more are not drawn

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

void add_values(Json& line, const std::string& input, const Values& values) {
  if (shown_length(line, input) != values.length() || values.data.size() > kMostValues) return;
  Json rows = Json::array();
  const auto width = static_cast<std::size_t>(values.width);
  for (std::size_t i = 0; i < values.length(); ++i) {
    Json row = Json::array();
    for (std::size_t k = 0; k < width; ++k)
      row.push_back(std::round(values.data[i * width + k] * 1e4) / 1e4);
    rows.push_back(std::move(row));
  }
  line["values"][input] = std::move(rows);
}

/// How the `count` positions that are shown of a picture lie in it: as the data's, or coarser in
/// the same proportion. Empty: neither.
std::vector<std::int64_t> shown_grid(const std::vector<std::int64_t>& grid, std::size_t count) {
  const auto cells = static_cast<std::int64_t>(count);
  const std::int64_t frames = grid.size() == 3 ? grid[0] : 1;
  const std::int64_t rows = grid[grid.size() - 2], columns = grid.back();
  const std::int64_t finer = std::gcd(rows, columns);  // 28×28: one by one; 6×4: three by two
  const std::int64_t row_unit = rows / finer, column_unit = columns / finer;
  for (std::int64_t k = 1; k <= finer; ++k) {
    if (frames * k * row_unit * k * column_unit != cells) continue;
    std::vector<std::int64_t> found = grid;
    found[grid.size() - 2] = k * row_unit, found.back() = k * column_unit;
    return found;
  }
  return {};
}

void add_picture(Json& line, const InputInfo& input, const Values& values) {
  for (const std::string& name : {input.name, input.name + " (parts)"}) {
    const std::size_t count = shown_length(line, name);
    if (count == 0) continue;
    const auto grid = shown_grid(input.grid, count);
    if (!grid.empty()) line["grids"][name] = grid;
  }
  const std::vector<std::string> pictures = picture_urls(input.grid, values);
  if (line.contains("grids") && !pictures.empty()) line["pictures"][input.name] = pictures;
}

/// A neighbour is named by its id; what it is, the graph knows.
void add_neighbours(Json& line, const GraphData& graph, const Example& example) {
  for (const Relation& relation : graph.relations) {
    const auto [first, last] = std::ranges::equal_range(relation.targets, example.node);
    Json labels = Json::array();
    for (auto target = first; target != last; ++target) {
      const auto place = static_cast<std::size_t>(target - relation.targets.begin());
      labels.push_back(graph.nodes[static_cast<std::size_t>(relation.sources[place])].label);
    }
    if (shown_length(line, relation.name) == labels.size())
      line["neighbours"][relation.name] = std::move(labels);
  }
}

}  // namespace

void add_shapes(Json& line, const DataInfo& info, const Example& example) {
  add_levels(line, example);
  add_views(line, example);
  for (const InputInfo& input : info.inputs) {
    const auto values = example.values.find(input.name);
    if (values == example.values.end()) continue;
    if (input.grid.empty()) {
      add_values(line, input.name, values->second);
    } else {
      add_picture(line, input, values->second);
    }
  }
  if (info.graph) add_neighbours(line, *info.graph, example);
}

}  // namespace heed
