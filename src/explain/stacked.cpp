// Attention through stacked layers of self-attention, carried down to the words (Abnar & Zuidema
// 2020). A layer's residual connection counts as attention to oneself.
#include <algorithm>
#include <limits>
#include <queue>

#include "heed/base/error.hpp"
#include "heed/explain/importance.hpp"

namespace heed::explain {
namespace {

constexpr double kLeastFlow = 1e-9;

/// The maps in which the words of one input ask each other, first layer first.
std::vector<const TraceMap*> layers_of(const std::vector<TraceMap>& maps) {
  std::vector<const TraceMap*> layers;
  for (const TraceMap& map : maps) {
    if (map.query_input == map.key_input && !map.key_input.empty() &&
        map.weights.size(2) == map.weights.size(3))
      layers.push_back(&map);
  }
  return layers;
}

/// [L, L] of float64, the layers of one example: mean over heads, half of it the word itself.
std::vector<Tensor> with_residual(const Subject& subject, std::span<const Example> examples,
                                  std::size_t index) {
  const Seen seen = subject.look(examples, {&index, 1});
  std::vector<Tensor> result;
  for (const TraceMap* map : layers_of(seen.maps)) {
    const Tensor mean = map->entry(0).mean(0).to(torch::kFloat64);
    const Tensor mixed = (mean + torch::eye(mean.size(0), torch::kFloat64)) / 2;
    result.push_back(mixed / mixed.sum(1, /*keepdim=*/true));
  }
  HEED_CHECK(!result.empty(),
             "explain: rollout and flow need layers of self-attention; mechanism '{}' has none",
             subject.run().config.attention.mechanism.id);
  return result;
}

/// Greatest flow between two nodes by shortest augmenting paths (Edmonds & Karp 1972).
class FlowGraph {
 public:
  explicit FlowGraph(std::size_t nodes) : out_(nodes) {}

  void add(std::size_t from, std::size_t to, double capacity) {
    out_[from].push_back(edges_.size());
    edges_.push_back({to, capacity});
    out_[to].push_back(edges_.size());
    edges_.push_back({from, 0});
  }

  double greatest(std::size_t source, std::size_t sink) {
    double total = 0;
    for (;;) {
      std::vector<std::size_t> through(out_.size(), kNone);
      if (!find_path(source, sink, through)) return total;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t node = sink; node != source; node = edges_[through[node] ^ 1].to)
        least = std::min(least, edges_[through[node]].left);
      for (std::size_t node = sink; node != source; node = edges_[through[node] ^ 1].to) {
        edges_[through[node]].left -= least;
        edges_[through[node] ^ 1].left += least;
      }
      total += least;
    }
  }

 private:
  struct Edge {
    std::size_t to;
    double left;
  };
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  bool find_path(std::size_t source, std::size_t sink, std::vector<std::size_t>& through) const {
    std::queue<std::size_t> waiting({source});
    while (!waiting.empty()) {
      const std::size_t node = waiting.front();
      waiting.pop();
      for (const std::size_t edge : out_[node]) {
        const std::size_t to = edges_[edge].to;
        if (to == source || through[to] != kNone || edges_[edge].left < kLeastFlow) continue;
        through[to] = edge;
        if (to == sink) return true;
        waiting.push(to);
      }
    }
    return false;
  }

  std::vector<Edge> edges_;  // an edge and its way back are neighbours
  std::vector<std::vector<std::size_t>> out_;
};

/// From the output, which hears each word of the top layer alike, down to one word.
double flow_to(const std::vector<Tensor>& layers, std::size_t word) {
  const auto words = static_cast<std::size_t>(layers.front().size(0));
  const std::size_t source = words * (layers.size() + 1);
  FlowGraph graph(source + 1);
  for (std::size_t i = 0; i < words; ++i)
    graph.add(source, words * layers.size() + i, 1.0 / static_cast<double>(words));
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const double* weights = layers[layer].data_ptr<double>();
    for (std::size_t query = 0; query < words; ++query) {
      for (std::size_t key = 0; key < words; ++key)
        graph.add(words * (layer + 1) + query, words * layer + key, weights[query * words + key]);
    }
  }
  return graph.greatest(source, word);
}

}  // namespace

bool is_stacked(const Subject& subject, const Example& sample) {
  const std::size_t first = 0;
  return !layers_of(subject.look({&sample, 1}, {&first, 1}).maps).empty();
}

Importances attention_rollout(const Subject& subject, std::span<const Example> examples) {
  Importances result;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    Tensor down;
    for (const Tensor& layer : with_residual(subject, examples, i))
      down = down.defined() ? layer.mm(down) : layer;
    const Tensor mean = down.mean(0).contiguous();
    result.emplace_back(mean.data_ptr<double>(), mean.data_ptr<double>() + mean.numel());
  }
  return result;
}

Importances attention_flow(const Subject& subject, std::span<const Example> examples) {
  Importances result;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    std::vector<Tensor> layers = with_residual(subject, examples, i);
    for (Tensor& layer : layers) layer = layer.contiguous();
    std::vector<double>& row = result.emplace_back();
    for (std::int64_t word = 0; word < layers.front().size(0); ++word)
      row.push_back(flow_to(layers, static_cast<std::size_t>(word)));
  }
  return result;
}

}  // namespace heed::explain
