// Each wiring against its formula in loops over entries and positions, written without the library:
// scores are plain dot products, so that only the wiring is left.
#include <gtest/gtest.h>

#include "mechanisms/walked.hpp"

namespace heed {
namespace {

// The rows [n, d] of one entry that are valid.
struct Entry {
  std::map<std::string, Tensor> rows;
  Tensor query;
};

Tensor attended(const Tensor& q, const Tensor& K, const Tensor& V) {
  Tensor sum = torch::zeros({V.size(1)}, torch::kFloat64);
  double total = 0;
  for (std::int64_t l = 0; l < K.size(0); ++l) {
    const double weight = std::exp(torch::dot(q, K[l]).item<double>());
    sum = sum + weight * V[l];
    total += weight;
  }
  return K.size(0) == 0 ? sum : sum / total;
}

Tensor attended(const Tensor& q, const Tensor& K) { return attended(q, K, K); }

Tensor weighed(const std::vector<double>& scores, const Tensor& V) {
  Tensor sum = torch::zeros({V.size(1)}, torch::kFloat64);
  double total = 0;
  for (const double e : scores) total += std::exp(e);
  for (std::size_t l = 0; l < scores.size(); ++l)
    sum = sum + std::exp(scores[l]) / total * V[static_cast<std::int64_t>(l)];
  return sum;
}

using Formula = std::function<Tensor(const Entry&, const std::map<std::string, Tensor>&)>;

void check(const PartSpec& mechanism, const Formula& formula, PartSpec score = "dot") {
  const PartInfo& info = mechanism_parts().find(Group::mechanism, mechanism.id);
  AttentionSpec parts{.mechanism = mechanism, .score = std::move(score)};
  const auto made = make_walked(info, parts);
  const Walked walked(info, {6, 4});
  std::map<std::string, Tensor> parameters;
  for (const auto& item : made->named_parameters()) parameters[item.key()] = item.value().detach();
  Trace quiet;
  const Tensor out = made->forward(walked.given(), quiet);
  for (std::int64_t b = 0; b < 2; ++b) {
    Entry entry{.rows = {}, .query = walked.query[b]};
    for (const Input& x : walked.inputs)
      entry.rows[x.name] = x.data[b].narrow(0, 0, x.lengths[b].item<std::int64_t>());
    EXPECT_LT((out[b] - formula(entry, parameters)).abs().max().item<double>(), 1e-12)
        << mechanism.id << ", entry " << b;
  }
}

TEST(Formulas, Alternating) {
  check("co.alternating", [](const Entry& x, const auto& p) {
    const Tensor &K1 = x.rows.at("input 1"), &K2 = x.rows.at("input 2");
    const Tensor c0 = attended(p.at("first_alone.q"), K1);
    const Tensor c2 = attended(c0, K2);
    return torch::cat({attended(c2, K1), c2});
  });
}

TEST(Formulas, Interactive) {
  check("co.interactive", [](const Entry& x, const auto&) {
    const Tensor &K1 = x.rows.at("input 1"), &K2 = x.rows.at("input 2");
    return torch::cat({attended(K2.mean(0), K1), attended(K1.mean(0), K2)});
  });
}

// Both affinities and both aggregations; positions one by one.
TEST(Formulas, Parallel) {
  for (const std::string affinity : {"bilinear", "trilinear"}) {
    for (const std::string aggregate : {"attend", "max"}) {
      check({"co.parallel", {{"affinity", affinity}, {"aggregate", aggregate}, {"act", "relu"}}},
            [&](const Entry& x, const auto& p) {
              const Tensor &K1 = x.rows.at("input 1"), &K2 = x.rows.at("input 2");
              const auto pair = [&](const Tensor& a, const Tensor& b) {
                if (affinity == "bilinear")
                  return std::max(
                      torch::dot(a, torch::matmul(p.at("W_A"), b)).template item<double>(), 0.0);
                return torch::dot(torch::cat({p.at("w_A1"), p.at("w_A2"), p.at("w_A3")}),
                                  torch::cat({a, b, a * b}))
                    .template item<double>();
              };
              const auto scores = [&](const Tensor& K, const Tensor& other, bool first) {
                const auto matrix = [&](const char* one, const char* two) {
                  const std::string name = first ? one : two;
                  return p.contains(name) ? p.at(name) : torch::zeros({1, K.size(1)}, K.options());
                };  // the maximum needs none
                const Tensor W = matrix("W1.weight", "W2.weight"),
                             V = matrix("W2.weight", "W1.weight"),
                             w = matrix("w1.weight", "w2.weight");
                std::vector<double> e;
                for (std::int64_t i = 0; i < K.size(0); ++i) {
                  Tensor mixed = torch::matmul(W, K[i]);
                  double best = -1e300;
                  for (std::int64_t j = 0; j < other.size(0); ++j) {
                    const double A = first ? pair(K[i], other[j]) : pair(other[j], K[i]);
                    mixed = mixed + A * torch::matmul(V, other[j]);
                    best = std::max(best, A);
                  }
                  e.push_back(
                      aggregate == "max"
                          ? best
                          : torch::matmul(w, torch::relu(mixed)).sum().template item<double>());
                }
                return e;
              };
              return torch::cat(
                  {weighed(scores(K1, K2, true), K1), weighed(scores(K2, K1, false), K2)});
            });
    }
  }
}

// Every position against what it finds in the other input.
TEST(Formulas, ParallelThatCompares) {
  check({"co.parallel", {{"affinity", "trilinear"}, {"aggregate", "compare"}, {"act", "relu"}}},
        [](const Entry& x, const auto& p) {
          const Tensor &K1 = x.rows.at("input 1"), &K2 = x.rows.at("input 2");
          const auto side = [&](const Tensor& K, const Tensor& other, bool first) {
            const std::string W = first ? "W1" : "W2";
            std::vector<Tensor> rows;
            for (std::int64_t i = 0; i < K.size(0); ++i) {
              std::vector<double> e;
              for (std::int64_t j = 0; j < other.size(0); ++j) {
                const Tensor &a = first ? K[i] : other[j], &b = first ? other[j] : K[i];
                e.push_back(torch::dot(torch::cat({p.at("w_A1"), p.at("w_A2"), p.at("w_A3")}),
                                       torch::cat({a, b, a * b}))
                                .template item<double>());
              }
              const Tensor met = weighed(e, other);
              const Tensor both = torch::cat({K[i], met, (K[i] - met).abs(), K[i] * met});
              rows.push_back(
                  torch::relu(torch::matmul(p.at(W + ".weight"), both) + p.at(W + ".bias")));
            }
            const Tensor all = torch::stack(rows);
            return torch::cat({all.mean(0), all.amax(0)});
          };
          return torch::cat({side(K1, K2, true), side(K2, K1, false)});
        });
}

TEST(Formulas, RotatoryWithTwoHops) {
  check({"rotatory", {{"hops", std::int64_t{2}}}}, [](const Entry& x, const auto&) {
    const Tensor &L = x.rows.at("left"), &T = x.rows.at("target"), &R = x.rows.at("right");
    const Tensor l1 = attended(T.mean(0), L), r1 = attended(T.mean(0), R);
    const Tensor l2 = attended(attended(l1, T), L), r2 = attended(attended(r1, T), R);
    return torch::cat({l2, r2, attended(l2, T), attended(r2, T)});
  });
}

TEST(Formulas, ViaAttention) {
  check(
      "via-attention",
      [](const Entry& x, const auto& p) {
        const Tensor &words = x.rows.at("input 1"), &characters = x.rows.at("characters");
        const Tensor word = attended(torch::matmul(p.at("to_words.attention.W"), x.query), words);
        const Tensor both = torch::cat({x.query, word});
        return torch::cat(
            {word, attended(torch::matmul(p.at("to_characters.attention.W"), both), characters)});
      },
      "general");
}

// Segments are 1, 2, 3 … positions long (walked.cpp): 6 = 1 + 2 + 3 words, 3 = 1 + 2 sentences.
TEST(Formulas, HierarchicalInThreeLevels) {
  const auto level = [](const Tensor& q, const Tensor& rows) {
    std::vector<Tensor> segments;
    for (std::int64_t start = 0, size = 1; start < rows.size(0); start += size++)
      segments.push_back(attended(q, rows.narrow(0, start, std::min(size, rows.size(0) - start))));
    return torch::stack(segments);
  };
  check("hierarchical", [&](const Entry& x, const auto&) {
    return attended(x.query, level(x.query, level(x.query, x.rows.at("input 1"))));
  });
}

TEST(Formulas, MetaEmbedding) {
  check("meta-embedding", [](const Entry& x, const auto& p) {
    std::vector<Tensor> features;
    for (std::int64_t l = 0; l < x.rows.at("second").size(0); ++l) {
      std::vector<Tensor> same;
      int e = 0;
      for (const char* name : {"input 1", "second", "third"}) {
        const std::string at = "features.W_" + std::to_string(++e);
        same.push_back(torch::matmul(p.at(at + ".weight"), x.rows.at(name)[l]) +
                       p.at(at + ".bias"));
      }
      features.push_back(attended(p.at("features.attender.q"), torch::stack(same)));
    }
    return attended(x.query, torch::stack(features));
  });
}

TEST(Formulas, Saliency) {
  const auto rows = [](const Entry& x) { return x.rows.at("input 1"); };
  check("saliency.max-pool", [&](const Entry& x, const auto&) { return rows(x).amax(0); });
  check("saliency.winner-take-all", [&](const Entry& x, const auto&) {
    return rows(x)[rows(x).square().sum(1).argmax().template item<std::int64_t>()];
  });
  check("saliency.gate", [&](const Entry& x, const auto& p) {
    const Tensor gates = torch::matmul(rows(x), p.at("gate.weight").t()) + p.at("gate.bias");
    return (rows(x) / (1 + torch::exp(-gates))).sum(0);
  });
  check({"saliency.gate", {{"for", "position"}}}, [&](const Entry& x, const auto& p) {
    const Tensor gates = torch::matmul(rows(x), p.at("gate.weight").t()) + p.at("gate.bias");
    return (rows(x) / (1 + torch::exp(-gates))).sum(0);
  });
}

TEST(Formulas, FocusIsSingularUnderAnotherName) {
  for (const char* id : {"singular", "focus"})
    check(id, [](const Entry& x, const auto&) { return attended(x.query, x.rows.at("input 1")); });
}

}  // namespace
}  // namespace heed
