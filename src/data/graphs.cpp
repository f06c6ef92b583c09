// Graphs in folders: nodes and edges as two tables.
#include "data/graphs.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "data/parts.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kNodeColumns = {"id", "label", "split", "words"};
const std::vector<std::string> kEdgeColumns = {"u", "v", "relation"};

// Inputs of a node; a relation is one too, under its name.
const std::string kNodes = "nodes", kRelations = "relations";

/// One of the two tables of a graph, and the columns it is read by.
struct GraphTable {
  fs::path file;
  std::vector<Column> columns;

  GraphTable(const DataSource& source, const fs::path& folder, const std::string& name,
             const std::vector<std::string>& roles, const std::vector<std::string>& required) {
    for (const char* ending : {".tsv", ".csv", ".jsonl", ".tsv.gz", ".csv.gz", ".jsonl.gz"}) {
      if (!file.empty()) break;
      if (is_there(folder / (name + ending))) file = folder / (name + ending);
    }
    HEED_CHECK(!file.empty(),
               "{}: there is no {}.tsv; a graph is a folder with nodes.tsv and edges.tsv",
               folder.string(), name);
    DataSource own = source;  // a role of the other table is not asked for in this one
    std::erase_if(own.columns, [&](const auto& column) {
      const auto& other = &roles == &kNodeColumns ? kEdgeColumns : kNodeColumns;
      return std::ranges::find(other, column.first) != other.end();
    });
    columns = wanted_columns(own, roles, required);
  }

  std::string cell(const Row& row, std::size_t column) const {
    return std::string(trim(row.cells[column].value_or("")));
  }
  std::string needed(const Row& row, std::size_t column) const {
    std::string text = cell(row, column);
    HEED_CHECK(!text.empty(), "{}: the {} is empty; fill it in or remove the row",
               at_line(file, row.line), columns[column].name);
    return text;
  }
};

/// The nodes of a folder and the parts they are in.
struct NodeTable {
  std::vector<Placed> nodes;
  std::unordered_map<std::string, std::int64_t> places;
  fs::path file;
};

NodeTable read_nodes(const DataSource& source, const fs::path& folder) {
  const GraphTable table(source, folder, "nodes", kNodeColumns, kNodeColumns);
  NodeTable result{.nodes = {}, .places = {}, .file = table.file};
  for (const Row& row : read_table(table.file, table.columns)) {
    Placed placed{.example = {}, .split = lower(table.needed(row, 2)), .line = row.line};
    Example& node = placed.example;
    node.id = table.needed(row, 0);
    node.label = placed.split == "none" ? table.cell(row, 1) : table.needed(row, 1);
    node.node = static_cast<std::int64_t>(result.nodes.size());
    const std::string words = table.cell(row, 3);
    node.inputs[kNodes] = split_words(source.lowercase ? lower(words) : words);
    const bool fresh = result.places.emplace(node.id, node.node).second;
    HEED_CHECK(fresh, "{}: node '{}' stands here a second time; ids must differ",
               at_line(table.file, row.line), node.id);
    result.nodes.push_back(std::move(placed));
  }
  return result;
}

std::vector<Relation> read_edges(const DataSource& source, const fs::path& folder,
                                 const NodeTable& nodes) {
  const GraphTable table(source, folder, "edges", kEdgeColumns, {"u", "v"});
  std::vector<std::string> names;  // in the order of their first edges
  std::map<std::string, EdgePairs> by_name;
  for (const Row& row : read_table(table.file, table.columns)) {
    const auto end = [&](std::size_t column) {
      const std::string id = table.needed(row, column);
      const auto found = nodes.places.find(id);
      HEED_CHECK(found != nodes.places.end(), "{}: the edge leads to '{}', which is no node of {}",
                 at_line(table.file, row.line), id, nodes.file.filename().string());
      return found->second;
    };
    const std::string relation = table.cell(row, 2);
    const std::string name = relation.empty() ? "edges" : relation;
    HEED_CHECK(name != kNodes && name != kRelations,
               "{}: a relation cannot be called '{}', as an input of the nodes is; rename it",
               at_line(table.file, row.line), name);
    if (!by_name.contains(name)) names.push_back(name);
    by_name[name].emplace_back(end(0), end(1));
  }
  std::vector<Relation> relations;
  for (const std::string& name : names)
    relations.push_back(
        both_ways(name, by_name[name], static_cast<std::int64_t>(nodes.nodes.size())));
  return relations;
}

std::vector<Example>* part_named(Dataset& data, std::string_view split) {
  if (split == "train") return &data.train;
  if (split == "test") return &data.test;
  return split == "val" || split == "dev" || split == "valid" || split == "validation" ? &data.val
                                                                                       : nullptr;
}

Dataset load_graph(const DataSource& source) {
  HEED_CHECK(!source.data.empty(),
             "task: a graph is one folder: give 'data', not 'train'; nodes.tsv tells the parts");
  HEED_CHECK(source.max_length == 0, "task: max_length cuts texts; the words of a node all count");
  const fs::path folder = find_file(source.data, source.base);
  HEED_CHECK(fs::is_directory(folder),
             "{}: a file; a graph is a folder with nodes.tsv and edges.tsv", folder.string());
  NodeTable table = read_nodes(source, folder);
  auto graph = std::make_shared<GraphData>();
  graph->relations = read_edges(source, folder, table);
  Dataset data{.name = fs::absolute(folder).lexically_normal().filename().string(),
               .labels = {},
               .train = {},
               .val = {},
               .test = {},
               .inputs = {{.name = kNodes}}};
  std::set<std::string> labels;
  for (const Placed& placed : table.nodes) {
    if (placed.split == "train") labels.insert(placed.example.label);
  }
  data.labels.assign(labels.begin(), labels.end());
  HEED_CHECK(!labels.empty(), "{}:1: no row has split 'train'; the model has nothing to learn from",
             table.file.string());
  for (Placed& placed : table.nodes) {
    const std::string where = at_line(table.file, placed.line);
    graph->nodes.push_back(placed.example);
    if (placed.split == "none") continue;
    auto* part = part_named(data, placed.split);
    HEED_CHECK(part, "{}: split '{}' is unknown; one of train, val, test, none", where,
               placed.split);
    HEED_CHECK(labels.contains(placed.example.label),
               "{}: label '{}' of the {} part does not occur in the training part{}", where,
               placed.example.label, placed.split, suggestion(placed.example.label, data.labels));
    part->push_back(std::move(placed.example));
  }
  data.graph = graph;
  set_neighbours(data);
  return data;
}

}  // namespace

Relation both_ways(std::string name, const EdgePairs& pairs, std::int64_t nodes) {
  EdgePairs ends;  // target, source
  for (const auto& [u, v] : pairs) {
    ends.emplace_back(u, v);
    ends.emplace_back(v, u);
  }
  for (std::int64_t node = 0; node < nodes; ++node) ends.emplace_back(node, node);
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  Relation relation{.name = std::move(name), .sources = {}, .targets = {}};
  for (const auto& [target, source] : ends) {
    relation.sources.push_back(source);
    relation.targets.push_back(target);
  }
  return relation;
}

void set_neighbours(Dataset& data) {
  const GraphData& graph = *data.graph;
  std::vector<std::string> names;
  for (const Relation& relation : graph.relations) names.push_back(relation.name);
  for (auto* part : {&data.train, &data.val, &data.test}) {
    for (Example& example : *part) {
      example.inputs.clear();  // the graph has the node's own words
      if (names.size() > 1) example.inputs[kRelations] = names;
      for (const Relation& relation : graph.relations) {
        auto& neighbours = example.inputs[relation.name];
        const auto [first, last] =
            std::equal_range(relation.targets.begin(), relation.targets.end(), example.node);
        for (auto target = first; target != last; ++target) {
          const auto source =
              relation.sources[static_cast<std::size_t>(target - relation.targets.begin())];
          neighbours.push_back(graph.nodes[static_cast<std::size_t>(source)].id);
        }
      }
    }
  }
}

DataKind graph_kind() {
  std::vector<std::string> columns = kNodeColumns;
  columns.insert(columns.end(), kEdgeColumns.begin(), kEdgeColumns.end());
  return {.id = "graph",
          .doc = "labels of the nodes of one graph",
          .columns = std::move(columns),
          .load = load_graph,
          .load_examples = {}};
}

}  // namespace heed
