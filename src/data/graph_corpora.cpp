// Generated graphs: communities in one kind of edges, and relations of which one decides.
#include <array>

#include "data/graphs.hpp"
#include "heed/base/error.hpp"
#include "heed/base/random.hpp"

namespace heed {
namespace {

constexpr std::size_t kCommunities = 4;
constexpr std::size_t kTopicWords = 12, kOtherWords = 60, kWordsANode = 6;

/// What the planted graphs share: nodes with labels, split into parts, each with a few words, of
/// which a share is of its community's topic.
class Planted {
 public:
  Planted(const CorpusOptions& options, std::string name, double topic_share)
      : random_(Random::derive(options.seed, 11)) {
    data.name = std::move(name);
    data.inputs = {{.name = "nodes"}};
    for (std::size_t c = 0; c < kCommunities; ++c) data.labels.push_back(label(c));
    const std::size_t count = options.train + options.val + options.test;
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) {
      order[i] = i;
      community.push_back(i % kCommunities);
      graph->nodes.push_back(node(i, topic_share));
    }
    random_.shuffle(std::span(order));
    for (std::size_t i = 0; i < count; ++i) {
      auto& part = i < options.train                 ? data.train
                   : i < options.train + options.val ? data.val
                                                     : data.test;
      part.push_back(graph->nodes[order[i]]);
    }
  }

  /// `many` edges from each node to others, of its own community with probability `inside`.
  void add_relation(const std::string& name, std::size_t many, double inside) {
    const std::size_t count = community.size();
    EdgePairs pairs;
    for (std::size_t u = 0; u < count; ++u) {
      for (std::size_t e = 0; e < many; ++e) {
        std::size_t v = random_.below(count);
        if (random_.chance(inside)) v = v - v % kCommunities + community[u];
        if (v < count && v != u)
          pairs.emplace_back(static_cast<std::int64_t>(u), static_cast<std::int64_t>(v));
      }
    }
    graph->relations.push_back(both_ways(name, pairs, static_cast<std::int64_t>(count)));
  }

  Dataset finish() {
    data.graph = graph;
    set_neighbours(data);
    return std::move(data);
  }

  static std::string label(std::size_t c) { return fmt::format("community-{}", c + 1); }

  Dataset data;
  std::shared_ptr<GraphData> graph = std::make_shared<GraphData>();
  std::vector<std::size_t> community;

 private:
  Example node(std::size_t i, double topic_share) {
    Example example{
        .id = fmt::format("n{}", i), .inputs = {}, .label = label(community[i]), .gold = {}};
    example.node = static_cast<std::int64_t>(i);
    for (std::size_t w = 0; w < kWordsANode; ++w) {
      example.inputs["nodes"].push_back(
          random_.chance(topic_share)
              ? fmt::format("topic-{}-{}", community[i] + 1, random_.below(kTopicWords))
              : fmt::format("word-{}", random_.below(kOtherWords)));
    }
    return example;
  }

  Random random_;
};

}  // namespace

Dataset community_graph(const CorpusOptions& options) {
  Planted planted(options, "graph", 0.2);
  planted.add_relation("edges", 4, 0.6);
  Dataset data = planted.finish();
  for (auto* part : {&data.train, &data.val, &data.test}) {
    for (Example& example : *part) {
      auto& gold = example.gold["edges"];
      for (const std::string& neighbour : example.inputs.at("edges")) {
        const auto place = static_cast<std::size_t>(std::stoul(neighbour.substr(1)));
        gold.push_back(data.graph->nodes[place].label == example.label ? 1.0f : 0.0f);
      }
    }
  }
  return data;
}

Dataset relations_graph(const CorpusOptions& options) {
  Planted planted(options, "hetgraph", 0.2);
  constexpr std::array kInside = {0.0, 0.8, 0.0};
  constexpr std::array kNames = {"follows", "cites", "near"};
  for (std::size_t r = 0; r < kNames.size(); ++r) planted.add_relation(kNames[r], 3, kInside[r]);
  Dataset data = planted.finish();
  for (auto* part : {&data.train, &data.val, &data.test}) {
    for (Example& example : *part) {
      for (const double inside : kInside)
        example.gold["relations"].push_back(inside > 0 ? 1.0f : 0.0f);
    }
  }
  return data;
}

}  // namespace heed
