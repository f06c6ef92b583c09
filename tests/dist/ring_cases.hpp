#pragma once
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/torch.h>

#include "heed/attention/attend.hpp"
#include "heed/attention/ring.hpp"
#include "heed/base/random.hpp"
#include "heed/dist/mpi.hpp"

namespace heed {

/// A whole sequence, the same at every rank, and what to ask of it.
struct RingCase {
  Tensor q, k, v, grad;
  AttendOptions options;

  RingCase(std::int64_t B, std::int64_t H, std::int64_t G, std::int64_t Q, std::int64_t K,
           std::int64_t D, std::int64_t V, torch::ScalarType type = torch::kFloat64)
      : q(torch::randn({B, Q, H, D}, torch::kFloat64).to(type).transpose(1, 2)),  // strided
        k(torch::randn({B, G, K, D}, torch::kFloat64).to(type)),
        v(torch::randn({B, G, K, V}, torch::kFloat64).to(type)),
        grad(torch::randn({B, H, Q, V}, torch::kFloat64).to(type)) {}

  /// Output, then the gradients of query, key and value, then the log-sum-exp.
  static std::vector<Tensor> run(std::vector<Tensor> inputs, const Tensor& grad,
                                 AttendOptions options) {
    for (Tensor& x : inputs) x = x.detach().clone().set_requires_grad(true);
    options.want.lse = true;
    const AttendResult result = attend(inputs[0], inputs[1], inputs[2], options);
    std::vector<Tensor> all = {result.output.detach()};
    // The log-sum-exp has a gradient of its own, where it is finite.
    const Tensor lse = result.lse.masked_fill(result.lse.isinf(), 0).to(grad.scalar_type());
    const Tensor loss = (result.output * grad).sum() + (lse * grad.select(3, 0)).sum();
    for (const Tensor& x : torch::autograd::grad({loss}, inputs)) all.push_back(x);
    all.push_back(result.lse.detach());
    return all;
  }

  /// In one process, by plain formulas unless told otherwise; the part that this rank holds.
  std::vector<Tensor> alone(torch::ScalarType type, Kernel kernel = Kernel::reference) const {
    AttendOptions with = options;
    with.kernel = kernel;
    std::vector<Tensor> all = run({q.to(type), k.to(type), v.to(type)}, grad.to(type), with);
    for (Tensor& x : all) x = part(x);
    return all;
  }

  std::vector<Tensor> ring() const {
    AttendOptions with = options;
    with.group = &dist::mpi_world();
    return run({part(q), part(k), part(v)}, part(grad), with);
  }

  static Tensor part(const Tensor& x) { return ring_split(x, 2, dist::mpi_world()); }
};

inline double largest_gap(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return HUGE_VAL;
  const Tensor same = a == b;  // infinities among them
  return a.numel() == 0 ? 0 : (a - b).abs().masked_fill(same, 0).max().item<double>();
}

/// Of every rank's number the sum.
inline double sum_of_ranks(double mine) {
  dist::mpi_world().sum(std::span(&mine, 1))->wait();
  return mine;
}

}  // namespace heed
