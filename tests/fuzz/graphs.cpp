// Folders with a graph: the nodes, then the edges, as TSV (a), CSV (b) or JSONL (c).
#include <array>

#include "fuzz/input.hpp"
#include "heed/data/dataset.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heed;
  constexpr std::array kEndings = {".tsv", ".csv", ".jsonl"};
  const fuzz::Input input(data, size);
  const std::string ending = kEndings[input.choose(kEndings.size())];
  for (const char* other : kEndings) {
    for (const char* name : {"nodes", "edges"})
      std::filesystem::remove(fuzz::folder().path() / (std::string(name) + other));
  }
  fuzz::folder().write("nodes" + ending, input.file(0));
  fuzz::folder().write("edges" + ending, input.file(1));
  fuzz::accepted([&] {
    const Dataset dataset = load_dataset({.kind = "graph", .data = fuzz::folder().path().string()});
    const auto nodes = static_cast<std::int64_t>(dataset.graph->nodes.size());
    for (const Relation& relation : dataset.graph->relations) {
      fuzz::require(relation.sources.size() == relation.targets.size(), "an edge has two ends");
      for (const std::int64_t end : relation.sources)
        fuzz::require(end >= 0 && end < nodes, "an edge ends at a node");
    }
  });
  return 0;
}
