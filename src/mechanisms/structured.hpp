#pragma once
#include "heed/mechanisms/mechanism.hpp"

namespace heed {

/// Marginals p(z_l = 1) of a linear chain of bits with the energy Σ_l z_l e_l + Σ_l T[z_l−1, z_l].
///
/// scores [..., N]; transition [2, 2], or any that broadcasts to [..., 2, 2]; valid [..., N] bool
/// or undefined: only those take part, and they come first. Marginals are 0 elsewhere. In log
/// space.
Tensor chain_marginals(const Tensor& scores, const Tensor& transition, const Tensor& valid);

struct TreeMarginals {
  Tensor heads;  // [B, N, N]: [b, j, i] is the probability that i is the head of j
  Tensor root;   // [B, N]: that j is the root
};

/// Marginals of projective dependency trees with a single root, a tree's energy being the sum of
/// the scores of its edges; Eisner's recursion in log space, O(N³) work in O(N) steps.
///
/// scores [B, N, N], [b, j, i] for the edge from head i to j (the diagonal is not read); root
/// [B, N]; lengths [B] or undefined. Gradients flow to both. Marginals are 0 past the lengths.
TreeMarginals tree_marginals(const Tensor& scores, const Tensor& root, const Tensor& lengths);

}  // namespace heed
