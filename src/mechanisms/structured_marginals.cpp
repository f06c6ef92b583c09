// Marginals of chains and trees, in log space.
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/functional/padding.h>

#include <limits>

#include "heed/base/error.hpp"
#include "heed/base/memory.hpp"
#include "mechanisms/structured.hpp"

namespace heed {
namespace {

// The product of matrices [..., 2, 2] in the log semiring.
Tensor log_product(const Tensor& a, const Tensor& b) {
  return torch::logsumexp(a.unsqueeze(-1) + b.unsqueeze(-3), -2);
}

// Products of the first l + 1 matrices, l = 0 … N − 1, in log N steps; m [..., N, 2, 2].
Tensor prefix_products(Tensor m) {
  const std::int64_t N = m.size(-3);
  for (std::int64_t step = 1; step < N; step *= 2) {
    const Tensor longer = log_product(m.narrow(-3, 0, N - step), m.narrow(-3, step, N - step));
    m = torch::cat({m.narrow(-3, 0, step), longer}, -3);
  }
  return m;
}

Tensor reversed(const Tensor& m) { return m.flip(-3).transpose(-1, -2); }

}  // namespace

Tensor chain_marginals(const Tensor& scores, const Tensor& transition, const Tensor& valid) {
  const std::int64_t N = scores.size(-1);
  if (N == 0) return scores;
  const Tensor e = valid.defined() ? scores.masked_fill(valid.logical_not(), 0) : scores;
  // A step is a matrix T[z', z] + z e_l. Past the length it is 0: the bits there are free, which
  // multiplies every chain by the same number and leaves the marginals as they are.
  const Tensor emit = torch::stack({torch::zeros_like(e), e}, -1).unsqueeze(-2);
  Tensor moves = transition.unsqueeze(-3);
  if (valid.defined())
    moves = moves.expand({N, 2, 2}).masked_fill(valid.logical_not().unsqueeze(-1).unsqueeze(-1), 0);
  const Tensor step = moves + emit;
  const Tensor forward =
      prefix_products(torch::cat({emit.narrow(-3, 0, 1).expand_as(step.narrow(-3, 0, 1)),
                                  step.narrow(-3, 1, N - 1)},
                                 -3))
          .select(-2, 0);  // [..., N, 2]
  Tensor backward = torch::zeros_like(forward.narrow(-2, 0, 1));
  if (N > 1) {
    const Tensor suffix = reversed(prefix_products(reversed(step.narrow(-3, 1, N - 1))));
    backward = torch::cat({torch::logsumexp(suffix, -1), backward}, -2);
  }
  const Tensor p = torch::softmax(forward + backward, -1).select(-1, 1);
  return valid.defined() ? p.masked_fill(valid.logical_not(), 0) : p;
}

namespace {

/// A chart of spans: by their start and by their end, a column a width. Columns are padded to N
/// rows so that the spans that meet in a longer one are two plain slices.
struct SpanChart {
  Tensor by_start, by_end;  // [B, N, widths so far]

  explicit SpanChart(const Tensor& width_zero)
      : by_start(width_zero.unsqueeze(-1)), by_end(by_start) {}

  void append(const Tensor& column, std::int64_t width) {
    namespace F = torch::nn::functional;
    const auto padded = [&](std::int64_t front, std::int64_t back) {
      return F::pad(column, F::PadFuncOptions({front, back})).unsqueeze(-1);
    };
    by_start = torch::cat({by_start, padded(0, width)}, -1);
    by_end = torch::cat({by_end, padded(width, 0)}, -1);
  }
  // Of spans (i, i + w): those that start at i with widths `first` … `first + count − 1`.
  Tensor starts(std::int64_t w, std::int64_t first, std::int64_t count) const {
    return by_start.narrow(1, 0, by_start.size(1) - w).narrow(2, first, count);
  }
  // And those that end at i + w, the widest first.
  Tensor ends(std::int64_t w, std::int64_t first, std::int64_t count) const {
    return by_end.narrow(1, w, by_end.size(1) - w).narrow(2, first, count).flip(2);
  }
};

// log Σ exp energy over all projective trees with one root of the first n words, [B].
// Right: the head is at the left end. Open: its edge has just been made.
Tensor log_trees(const Tensor& scores, const Tensor& root, const Tensor& lengths) {
  const std::int64_t N = scores.size(1);
  const Tensor nothing = torch::zeros({scores.size(0), N}, scores.options());
  SpanChart right(nothing), left(nothing), open_right(nothing), open_left(nothing);
  for (std::int64_t w = 1; w < N; ++w) {
    // (i … k, headed by i) beside (k + 1 … j, headed by j), and an edge over both.
    const Tensor both = torch::logsumexp(right.starts(w, 0, w) + left.ends(w, 0, w), -1);
    open_right.append(both + scores.diagonal(-w, 1, 2), w);  // i heads j: [j, i]
    open_left.append(both + scores.diagonal(w, 1, 2), w);
    right.append(torch::logsumexp(open_right.starts(w, 1, w) + right.ends(w, 0, w), -1), w);
    left.append(torch::logsumexp(left.starts(w, 0, w) + open_left.ends(w, 1, w), -1), w);
  }
  // Root m: (0 … m) headed by m, and (m … n − 1) headed by m.
  const Tensor last = (lengths - 1).clamp_min(0).view({-1, 1});
  const Tensor m = torch::arange(N, lengths.options()).unsqueeze(0);
  const Tensor ending = right.by_end.gather(1, last.unsqueeze(-1).expand({-1, 1, N})).squeeze(1);
  const Tensor tails = ending.gather(1, (last - m).clamp_min(0));
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  return torch::logsumexp((left.by_start.select(1, 0) + tails + root).masked_fill(m > last, kNone),
                          -1);
}

}  // namespace

namespace {

/// Refuses a batch whose charts would not fit, before anything is computed.
void check_tree_memory(std::int64_t B, std::int64_t N, std::size_t element, bool trains) {
  const double cube = static_cast<double>(N) * static_cast<double>(N) * static_cast<double>(N);
  // Measured, N from 64 to 192: spans of all widths, kept for the gradient, and to train twice.
  check_room((trains ? 8 : 4) * cube * static_cast<double>(B) * static_cast<double>(element),
             "structured.tree", [&] { return fmt::format("{} trees of {} words", B, N); },
             "take a smaller batch (train.batch) or shorter inputs (task.max_length)");
}

}  // namespace

TreeMarginals tree_marginals(const Tensor& scores, const Tensor& root, const Tensor& lengths) {
  const std::int64_t B = scores.size(0), N = scores.size(1);
  if (N == 0 || B == 0) return {torch::zeros_like(scores), torch::zeros_like(root)};
  const bool trains =
      torch::GradMode::is_enabled() && (scores.requires_grad() || root.requires_grad());
  check_tree_memory(B, N, scores.element_size(), trains);
  const Tensor n = lengths.defined() ? lengths.to(scores.device(), torch::kInt64)
                                     : torch::full({B}, N, scores.options().dtype(torch::kInt64));
  // Marginals are the gradient of the log-partition; its own gradient is torch's.
  const torch::AutoGradMode graph(true);
  const auto operand = [&](const Tensor& x) {
    return trains && x.requires_grad() ? x : x.detach().set_requires_grad(true);
  };
  const Tensor e = operand(scores), r = operand(root);
  const auto p = torch::autograd::grad({log_trees(e, r, n).sum()}, {e, r}, {}, trains, trains,
                                       /*allow_unused=*/true);
  const Tensor empty = (n == 0).view({B, 1});
  // With one word there is no edge.
  const Tensor heads = p[0].defined() ? p[0] : torch::zeros_like(scores);
  return {heads.masked_fill(empty.unsqueeze(-1), 0), p[1].masked_fill(empty, 0)};
}

}  // namespace heed
