// A wiring as a picture. Columns from left to right: inputs, attention modules by how many others
// come before them, the context.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/base/words.hpp"
#include "heed/models/describe.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWide = 168, kHigh = 46, kGapX = 74, kGapY = 22, kEdge = 14;

struct Node {
  std::string title, note;
  int column = 0, row = 0;
  int lift = 0;  // half rows that centre its column
  bool source = false;

  int x() const { return kEdge + column * (kWide + kGapX); }
  int y() const { return kEdge + (2 * row + lift) * (kHigh + kGapY) / 2; }
};

struct Edge {
  std::size_t from, to;
  bool asks;
};

struct Drawing {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

/// The words of a place that a step names: "[c_1; c_2]" → c_1, c_2.
std::vector<std::string> symbols(std::string text) {
  for (char& c : text)
    if (std::string_view("[];,()+").find(c) != std::string_view::npos) c = ' ';
  return split_words(text);
}

/// The nodes that feed a step: earlier ones whose output it names, else the inputs themselves.
class Builder {
 public:
  explicit Builder(const Json& attention) {
    std::vector<const Json*> beside;
    for (const Json& m : attention.at("modules")) {
      if (m.contains("beside"))
        beside.push_back(&m);
      else
        add_module(m);
    }
    if (attention.contains("context")) add_context(attention["context"].get<std::string>());
    if (beside.empty()) return;
    std::vector<std::size_t> feeds = {drawing_.nodes.size() - 1};
    const int column = drawing_.nodes.back().column;
    for (const Json* m : beside) {
      const std::size_t before = drawing_.nodes.size();
      add_module(*m);
      // Under the context, what it looks at before it, so that no line crosses a box.
      for (std::size_t i = before; i < drawing_.nodes.size(); ++i)
        drawing_.nodes[i].column = column - (drawing_.nodes[i].source ? 1 : 0);
      feeds.push_back(drawing_.nodes.size() - 1);
    }
    add({.title = "answer", .note = "by both"}, feeds, {}, "");
  }

  Drawing take() {
    std::vector<int> rows;
    for (Node& node : drawing_.nodes) {
      if (static_cast<std::size_t>(node.column) >= rows.size())
        rows.resize(static_cast<std::size_t>(node.column) + 1, 0);
      node.row = rows[static_cast<std::size_t>(node.column)]++;
    }
    const int most = rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
    for (Node& node : drawing_.nodes)
      node.lift = most - rows[static_cast<std::size_t>(node.column)];
    return std::move(drawing_);
  }

 private:
  void add_module(const Json& m) {
    const auto keys = m["keys"].get<std::string>(), query = m["query"].get<std::string>();
    const std::vector<std::size_t> feeds = sources(keys);
    const std::vector<std::size_t> asks =
        query.empty() ? std::vector<std::size_t>() : sources(query);
    add({.title = m["name"].get<std::string>(), .note = "gives " + m["output"].get<std::string>()},
        feeds, asks, m["output"].get<std::string>());
  }

  void add_context(const std::string& context) {
    std::vector<std::size_t> feeds;
    for (const auto& [symbol, node] : outputs_) {
      for (const std::string& word : symbols(context))
        if (word == symbol) feeds.push_back(node);
    }
    if (feeds.empty() && drawing_.nodes.empty()) feeds = sources(context);
    if (feeds.empty()) feeds.push_back(drawing_.nodes.size() - 1);
    add({.title = "context", .note = context}, feeds, {}, "");
  }

  std::vector<std::size_t> sources(const std::string& text) {
    std::vector<std::size_t> found;
    for (const std::string& word : symbols(text)) {
      const auto made = outputs_.find(word);
      if (made != outputs_.end()) found.push_back(made->second);
    }
    if (!found.empty()) return found;
    for (std::size_t i = 0; i < drawing_.nodes.size(); ++i)
      if (drawing_.nodes[i].source && drawing_.nodes[i].title == text) return {i};
    drawing_.nodes.push_back({.title = text, .note = "", .source = true});
    return {drawing_.nodes.size() - 1};
  }

  void add(Node node, const std::vector<std::size_t>& feeds, const std::vector<std::size_t>& asks,
           const std::string& output) {
    const std::size_t index = drawing_.nodes.size();
    for (const auto* list : {&feeds, &asks})
      for (const std::size_t from : *list)
        node.column = std::max(node.column, drawing_.nodes[from].column + 1);
    drawing_.nodes.push_back(std::move(node));
    for (const std::size_t from : feeds) drawing_.edges.push_back({from, index, false});
    for (const std::size_t from : asks) drawing_.edges.push_back({from, index, true});
    if (!output.empty()) outputs_[output] = index;
  }

  Drawing drawing_;
  std::map<std::string, std::size_t> outputs_;
};

std::string draw(const Edge& edge, const std::vector<Node>& nodes) {
  const Node &from = nodes[edge.from], &to = nodes[edge.to];
  const int x1 = from.x() + kWide, y1 = from.y() + kHigh / 2;
  const int x2 = to.x() - 5, y2 = to.y() + kHigh / 2 + (edge.asks ? -9 : 9);
  const int bend = std::max(kGapX / 2, (x2 - x1) / 2);
  return fmt::format(
      "<path class=\"{}\" marker-end=\"url(#tip)\" d=\"M{} {} C{} {} {} {} {} {}\"/>\n",
      edge.asks ? "asks" : "feeds", x1, y1, x1 + bend, y1, x2 - bend, y2, x2, y2);
}

std::string draw(const Node& node) {
  const int middle = node.x() + kWide / 2;
  std::string text = fmt::format(
      "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>\n",
      node.source ? "input" : "module", node.x(), node.y(), kWide, kHigh, node.source ? 23 : 6);
  text += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", middle,
                      node.y() + (node.note.empty() ? 28 : 20), escaped(node.title));
  if (!node.note.empty())
    text += fmt::format("<text class=\"note\" x=\"{}\" y=\"{}\">{}</text>\n", middle, node.y() + 36,
                        escaped(node.note));
  return text;
}

constexpr const char* kStyle =
    "<style>text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#1d2430}"
    ".note{font-size:11px;fill:#5b6472}rect{stroke:#5b6472;fill:#eef1f5}.module{fill:#dce9fb;"
    "stroke:#2b62b3}path{fill:none;stroke:#5b6472;stroke-width:1.4}.asks{stroke:#b3541e;"
    "stroke-dasharray:5 4}@media(prefers-color-scheme:dark){text{fill:#e7ebf1}.note{fill:#a9b3c1}"
    "rect{fill:#262c36;stroke:#8a94a3}.module{fill:#1d3352;stroke:#6da3ee}path{stroke:#8a94a3}"
    ".asks{stroke:#f0a070}}</style>\n"
    "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
    "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" style=\"fill:#7a8494;"
    "stroke:none\"/></marker></defs>\n";

}  // namespace

std::string to_svg(const Json& description) {
  const Json& attention = description.at("attention");
  const Drawing drawing = Builder(attention).take();
  int width = 0, height = 0;
  for (const Node& node : drawing.nodes) {
    width = std::max(width, node.x() + kWide + kEdge);
    height = std::max(height, node.y() + kHigh + kEdge);
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" "
      "role=\"img\">\n<title>{}: what is asked with is dashed, what is attended to is solid"
      "</title>\n{}",
      width, height, width, height,
      escaped(attention.at("mechanism").at("title").get<std::string>()), kStyle);
  for (const Edge& edge : drawing.edges) svg += draw(edge, drawing.nodes);
  for (const Node& node : drawing.nodes) svg += draw(node);
  return svg + "</svg>\n";
}

}  // namespace heed
