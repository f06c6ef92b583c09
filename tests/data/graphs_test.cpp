#include <gmock/gmock.h>
#include <zlib.h>

#include <set>

#include "data/scratch.hpp"
#include "heed/data/dataset.hpp"
#include "source_dir.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::expect_parts;
using testing::message_of;
using testing::Scratch;

const char* const kNodes =
    "id\tlabel\tsplit\twords\n"
    "a\tx\ttrain\tred blue\n"
    "b\ty\ttrain\t\n"
    "c\tx\ttest\tRed\n"
    "d\t\tnone\tgreen\n";

Dataset load_folder(const Scratch& scratch, const std::string& nodes, const std::string& edges) {
  scratch.write("g/nodes.tsv", nodes);
  scratch.write("g/edges.tsv", edges);
  return load_dataset({.kind = "graph", .data = (scratch.folder() / "g").string()});
}

TEST(GraphFolder, GivesEdgesBothWaysAndEveryNodeItself) {
  const Scratch scratch;
  const Dataset data = load_folder(scratch, kNodes, "u\tv\na\tb\nb\ta\nc\td\n");
  ASSERT_TRUE(data.graph);
  EXPECT_EQ(data.graph->nodes.size(), 4u);
  EXPECT_THAT(data.graph->nodes[2].inputs.at("nodes"), ElementsAre("red"));
  ASSERT_EQ(data.graph->relations.size(), 1u);
  EXPECT_THAT(data.graph->relations[0].targets, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(data.graph->relations[0].sources, ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_EQ(data.train.size(), 2u);
  EXPECT_TRUE(data.val.empty());
  ASSERT_EQ(data.test.size(), 1u);
  EXPECT_EQ(data.test[0].node, 2);
  EXPECT_THAT(data.test[0].inputs.at("edges"), ElementsAre("c", "d"));
}

TEST(GraphFolder, KeepsRelationsApart) {
  const Scratch scratch;
  const Dataset data =
      load_folder(scratch, kNodes, "u\tv\trelation\na\tb\tlikes\nc\ta\tknows\na\tc\tlikes\n");
  ASSERT_EQ(data.graph->relations.size(), 2u);
  EXPECT_EQ(data.graph->relations[0].name, "likes");
  EXPECT_THAT(data.train[0].inputs.at("relations"), ElementsAre("likes", "knows"));
  EXPECT_THAT(data.train[0].inputs.at("likes"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(data.train[0].inputs.at("knows"), ElementsAre("a", "c"));
}

TEST(GraphFolder, NamesFileAndLineOfAMistake) {
  struct Wrong {
    std::string nodes, edges, place, reason;
  };
  const std::string nodes = kNodes;
  const Wrong cases[] = {
      {nodes, "u\tv\na\tb\na\tz\n", "edges.tsv:3: ", "'z', which is no node"},
      {nodes + "a\tx\tval\tred\n", "u\tv\na\tb\n", "nodes.tsv:6: ", "'a' stands here a second"},
      {nodes + "e\tx\ttraining\tred\n", "u\tv\na\tb\n", "nodes.tsv:6: ", "'training'"},
      {nodes + "e\tq\ttest\tred\n", "u\tv\na\tb\n", "nodes.tsv:6: ", "label 'q'"},
      {nodes + "e\t\ttest\tred\n", "u\tv\na\tb\n", "nodes.tsv:6: ", "label is empty"},
      {nodes, "u\tv\na\n", "edges.tsv:2: ", "1 cell"},
      {nodes, "u\tv\trelation\na\tb\tx\na\tb\trelations\n", "edges.tsv:3: ", "'relations'"},
      {nodes, "u\tv\trelation\na\tb\tnodes\n", "edges.tsv:2: ", "'nodes'"},
      {nodes, "from\tto\na\tb\n", "edges.tsv:1: ", "'u'"},
      {"id\tlabel\tsplit\twords\na\tx\ttest\tw\n", "u\tv\na\ta\n", "nodes.tsv:1: ", "'train'"},
  };
  for (const Wrong& wrong : cases) {
    const Scratch scratch;
    const std::string message = message_of([&] { load_folder(scratch, wrong.nodes, wrong.edges); });
    expect_parts(message, {(scratch.folder() / "g").string() + "/" + wrong.place, wrong.reason});
  }
  const Scratch scratch;
  scratch.write("g/nodes.tsv", nodes);
  const DataSource source{.kind = "graph", .data = (scratch.folder() / "g").string()};
  expect_parts(message_of([&] { load_dataset(source); }), {"no edges.tsv"});
}

TEST(GraphFolder, ItsTablesMayBePacked) {
  const Scratch scratch;
  const auto pack = [&](const std::string& name, const std::string& text) {
    gzFile file = gzopen(scratch.write(name, "").c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  };
  pack("g/nodes.tsv.gz", kNodes);
  pack("g/edges.csv.gz", "u,v\na,b\n");
  const Dataset data = load_dataset({.kind = "graph", .data = (scratch.folder() / "g").string()});
  EXPECT_EQ(data.graph->nodes.size(), 4u);
  EXPECT_THAT(data.train[0].inputs.at("edges"), ElementsAre("a", "b"));
}

TEST(GraphCorpora, GoldNeighboursAreOfTheSameCommunity) {
  const Dataset data = load_dataset({.kind = "graph", .data = "builtin:graph?size=200"});
  EXPECT_EQ(data.graph->nodes.size(), 200u + 25 + 50);
  double inside = 0, all = 0;
  for (const Example& example : data.test) {
    const auto& gold = example.gold.at("edges");
    ASSERT_EQ(gold.size(), example.inputs.at("edges").size());
    for (std::size_t i = 0; i < gold.size(); ++i) {
      const auto at = std::stoul(example.inputs.at("edges")[i].substr(1));
      EXPECT_EQ(gold[i] > 0, data.graph->nodes[at].label == example.label);
      inside += gold[i];
      all += 1;
    }
  }
  EXPECT_GT(inside / all, 0.5);
  EXPECT_LT(inside / all, 0.9);
}

TEST(GraphCorpora, OneRelationJoinsNodesOfALabel) {
  const Dataset data = load_dataset({.kind = "graph", .data = "builtin:hetgraph?size=400"});
  ASSERT_EQ(data.graph->relations.size(), 3u);
  std::vector<double> agreeing;
  for (const Relation& relation : data.graph->relations) {
    double same = 0, all = 0;
    for (std::size_t e = 0; e < relation.sources.size(); ++e) {
      const auto u = static_cast<std::size_t>(relation.sources[e]),
                 v = static_cast<std::size_t>(relation.targets[e]);
      if (u == v) continue;
      same += data.graph->nodes[u].label == data.graph->nodes[v].label ? 1 : 0;
      all += 1;
    }
    agreeing.push_back(same / all);
  }
  EXPECT_GT(agreeing[1], 0.75);
  EXPECT_LT(agreeing[0], 0.4);
  EXPECT_LT(agreeing[2], 0.4);
  EXPECT_THAT(data.train[0].gold.at("relations"), ElementsAre(0, 1, 0));
}

TEST(GraphFolder, ReadsCoraWhenItIsThere) {
  const fs::path folder = fs::path(kSourceDir).parent_path() / "shared" / "data" / "graph-cora";
  if (!fs::exists(folder)) GTEST_SKIP() << "no ../shared/data/graph-cora beside the source tree";
  const Dataset data = load_dataset({.kind = "graph", .data = folder.string()});
  EXPECT_EQ(data.graph->nodes.size(), 2708u);
  EXPECT_EQ(data.graph->relations[0].sources.size(), 2u * 5278 + 2708);
  EXPECT_EQ(data.train.size(), 140u);
  EXPECT_EQ(data.val.size(), 500u);
  EXPECT_EQ(data.test.size(), 1000u);
  EXPECT_EQ(data.labels.size(), 7u);
  std::set<std::string> words;
  for (const Example& node : data.graph->nodes)
    words.insert(node.inputs.at("nodes").begin(), node.inputs.at("nodes").end());
  EXPECT_EQ(words.size(), 1432u);  // of 1433: one word is in no paper
}

}  // namespace
}  // namespace heed
