// Marginals against the enumeration of all structures, and what they are for.
#include "mechanisms/structured.hpp"

#include <gmock/gmock.h>

#include "mechanisms/support.hpp"

namespace heed {
namespace {

// p(z_l = 1) by summing over all 2^n chains.
std::vector<double> enumerated_chain(const std::vector<double>& e, const Tensor& transition) {
  const std::size_t n = e.size();
  double total = 0;
  std::vector<double> on(n, 0);
  for (std::size_t bits = 0; bits < std::size_t{1} << n; ++bits) {
    double energy = 0;
    for (std::size_t l = 0; l < n; ++l) {
      const bool z = bits >> l & 1;
      if (z) energy += e[l];
      if (l > 0)
        energy +=
            transition[static_cast<int>(bits >> (l - 1) & 1)][static_cast<int>(z)].item<double>();
    }
    total += std::exp(energy);
    for (std::size_t l = 0; l < n; ++l)
      if (bits >> l & 1) on[l] += std::exp(energy);
  }
  for (double& p : on) p /= total;
  return on;
}

TEST(Chain, MarginalsEqualTheEnumerationOfAllChains) {
  torch::manual_seed(1);
  const Tensor transition = torch::randn({2, 2}, kFull);
  const Tensor scores = 2 * torch::randn({6, 2, 1, 6}, kFull);
  const Tensor lengths = torch::tensor({6, 5, 4, 3, 2, 1});
  const Tensor valid = (torch::arange(6) < lengths.view({6, 1, 1, 1}));
  const Tensor p = chain_marginals(scores, transition, valid);
  for (std::int64_t b = 0; b < 6; ++b) {
    const std::int64_t n = lengths[b].item<std::int64_t>();
    const Tensor row = scores[b][1][0].narrow(0, 0, n).contiguous();
    const std::vector<double> e(row.data_ptr<double>(), row.data_ptr<double>() + n);
    const auto expected = enumerated_chain(e, transition);
    for (std::int64_t l = 0; l < 6; ++l) {
      const double found = p[b][1][0][l].item<double>();
      if (l < n) {
        EXPECT_NEAR(found, expected[static_cast<std::size_t>(l)], 1e-12) << b << l;
      } else {
        EXPECT_EQ(found, 0);
      }
    }
    const Tensor alone = chain_marginals(scores[b].narrow(-1, 0, n), transition, {});
    EXPECT_LT(greatest(alone - p[b].narrow(-1, 0, n)), 1e-12);
  }
  // Without transitions it is a sigmoid a position.
  EXPECT_LT(
      greatest(chain_marginals(scores, torch::zeros({2, 2}, kFull), {}) - torch::sigmoid(scores)),
      1e-12);
  // Energies far beyond exp's range.
  EXPECT_TRUE(torch::isfinite(chain_marginals(scores * 1e4, transition, valid)).all().item<bool>());
}

TEST(Chain, HasItsGradients) {
  torch::manual_seed(2);
  const Tensor valid = torch::arange(5) < torch::tensor({5, 3}).view({2, 1});
  check_gradients([&](const std::vector<Tensor>& x) { return chain_marginals(x[0], x[1], valid); },
                  {torch::randn({2, 5}, kFull), torch::randn({2, 2}, kFull)}, "chain");
}

// True if the heads (−1: root) are a projective tree with one root.
bool projective_tree(const std::vector<int>& head) {
  const int n = static_cast<int>(head.size());
  if (std::count(head.begin(), head.end(), -1) != 1) return false;
  const auto descends = [&](int word, int from) {
    for (int steps = 0; word != from && word >= 0 && steps <= n; ++steps)
      word = head[static_cast<std::size_t>(word)];
    return word == from;
  };
  for (int j = 0; j < n; ++j) {
    if (!descends(j, -1)) return false;  // a cycle
    const int h = head[static_cast<std::size_t>(j)];
    if (h < 0) continue;
    for (int between = std::min(h, j) + 1; between < std::max(h, j); ++between)
      if (!descends(between, h)) return false;  // an edge that crosses
  }
  return true;
}

struct Enumerated {
  std::vector<std::vector<double>> head;  // [j][i]
  std::vector<double> root;
  int trees = 0;
};

Enumerated enumerated_trees(const Tensor& scores, const Tensor& root, int n) {
  const auto size = static_cast<std::size_t>(n);
  Enumerated sum{.head = {size, std::vector<double>(size, 0)},
                 .root = std::vector<double>(size, 0)};
  const Tensor s = scores.contiguous(), r = root.contiguous();
  const auto e = s.accessor<double, 2>();
  const auto er = r.accessor<double, 1>();
  double total = 0;
  std::vector<int> head(size, -1);
  for (;;) {
    if (projective_tree(head)) {
      double energy = 0;
      for (int j = 0; j < n; ++j)
        energy +=
            head[static_cast<std::size_t>(j)] < 0 ? er[j] : e[j][head[static_cast<std::size_t>(j)]];
      const double mass = std::exp(energy);
      total += mass;
      ++sum.trees;
      for (std::size_t j = 0; j < size; ++j)
        (head[j] < 0 ? sum.root[j] : sum.head[j][static_cast<std::size_t>(head[j])]) += mass;
    }
    std::size_t j = 0;  // the next assignment of heads
    while (j < size && head[j] == n - 1) head[j++] = -1;
    if (j == size) break;
    ++head[j];
  }
  for (auto& row : sum.head)
    for (double& p : row) p /= total;
  for (double& p : sum.root) p /= total;
  return sum;
}

TEST(Tree, MarginalsEqualTheEnumerationOfAllProjectiveTrees) {
  torch::manual_seed(3);
  const Tensor scores = torch::randn({6, 6, 6}, kFull), root = torch::randn({6, 6}, kFull);
  const Tensor lengths = torch::tensor({6, 1, 2, 3, 4, 5});
  const TreeMarginals p = tree_marginals(scores, root, lengths);
  const std::map<int, int> known = {{1, 1},  {2, 2},   {3, 7},
                                    {4, 30}, {5, 143}, {6, 728}};  // OEIS A006013
  for (std::int64_t b = 0; b < 6; ++b) {
    const int n = lengths[b].item<int>();
    const Enumerated expected = enumerated_trees(scores[b], root[b], n);
    ASSERT_EQ(expected.trees, known.at(n)) << "the enumeration itself";
    for (int j = 0; j < 6; ++j) {
      const auto at = [](int x) { return static_cast<std::size_t>(x); };
      EXPECT_NEAR(p.root[b][j].item<double>(), j < n ? expected.root[at(j)] : 0, 1e-12);
      for (int i = 0; i < 6; ++i)
        EXPECT_NEAR(p.heads[b][j][i].item<double>(),
                    j < n && i < n ? expected.head[at(j)][at(i)] : 0, 1e-12);
    }
  }
  // Every word has one head or is the root; there is one root.
  const Tensor valid = torch::arange(6) < lengths.unsqueeze(1);
  EXPECT_LT(greatest(p.heads.sum(-1) + p.root - valid.to(kFull)), 1e-12);
  EXPECT_LT(greatest(p.root.sum(-1) - 1), 1e-12);
}

TEST(Tree, HasItsGradientsAndNeedsNoneToRun) {
  torch::manual_seed(4);
  const Tensor scores = torch::randn({2, 4, 4}, kFull), root = torch::randn({2, 4}, kFull);
  const Tensor lengths = torch::tensor({4, 3});
  check_gradients(
      [&](const std::vector<Tensor>& x) {
        const TreeMarginals p = tree_marginals(x[0], x[1], lengths);
        return torch::cat({p.heads.flatten(), p.root.flatten()});
      },
      {scores, root}, "tree");
  torch::NoGradGuard no_grad;
  const TreeMarginals p = tree_marginals(scores, root, lengths);
  EXPECT_FALSE(p.heads.requires_grad());
  EXPECT_LT(greatest(p.root.sum(-1) - 1), 1e-12);
  const TreeMarginals none = tree_marginals(scores, root, torch::tensor({0, 1}));
  EXPECT_EQ(greatest(none.heads), 0);
  EXPECT_EQ(none.root.sum().item<double>(), 1);
}

std::shared_ptr<Mechanism> structured_of(const PartSpec& mechanism,
                                         const std::string& queries = "multi-head",
                                         std::int64_t dim = 8,
                                         const std::string& score = "additive") {
  MechanismProblem problem{.parts = {.mechanism = mechanism, .score = score, .queries = queries},
                           .inputs = {{.name = "text", .dim = dim}},
                           .query_dim = dim};
  if (queries == "multi-head") problem.parts.queries.options["heads"] = std::int64_t{2};
  return make_mechanism(problem);
}

TEST(Structured, EveryOneHoldsThePromises) {
  torch::manual_seed(5);
  for (const std::string queries : {"multi-head", "singular"}) {
    for (const PartSpec& spec :
         {PartSpec("structured.chain"), PartSpec("structured.chain", {{"normalise", true}}),
          PartSpec("structured.binomial"), PartSpec("structured.tree")}) {
      SCOPED_TRACE(spec.id + " " + queries);
      const auto mechanism = structured_of(spec, queries);
      mechanism->to(kFull);
      for (Tensor& parameter : mechanism->parameters()) parameter.data().normal_(0, 0.5);
      const bool tree = spec.id == "structured.tree";
      hold_promises(*mechanism, tree ? "tree" : "selection", torch::randn({3, 4, 8}, kFull),
                    tree ? Tensor() : torch::randn({3, 8}, kFull));
    }
  }
}

TEST(Structured, TheAlignmentHasNoPlace) {
  MechanismProblem problem{.parts = {.mechanism = "structured.chain", .align = "sparsemax"},
                           .inputs = {{.name = "text", .dim = 4}},
                           .query_dim = 4};
  EXPECT_THAT(refusal([&] { make_mechanism(problem); }),
              testing::HasSubstr("align 'sparsemax' has no place in it"));
}

}  // namespace
}  // namespace heed
