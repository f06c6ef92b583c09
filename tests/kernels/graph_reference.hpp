#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "heed/kernels/graph.hpp"
#include "heed/kernels/random.hpp"
#include "kernels/support.hpp"

namespace heed::kernels::testing {

/// A graph, its data and gradients to send back.
struct GraphCase {
  GraphProblem problem;                      // everything but pointers
  std::vector<std::int64_t> source, target;  // the caller's edges
  Buffer source_rows, target_rows, a_source, a_target, grad_out, grad_weights;

  std::int64_t edges() const { return static_cast<std::int64_t>(source.size()); }
  std::int64_t size() const { return problem.heads * problem.width; }
  Type working() const { return problem.type == Type::float64 ? Type::float64 : Type::float32; }
  std::string describe() const {
    return std::string(problem.score == GraphScore::gat ? "gat" : "gatv2") + " type " +
           std::to_string(static_cast<int>(problem.type)) + ", " +
           std::to_string(problem.graph.sources) + " sources, " +
           std::to_string(problem.graph.targets) + " targets, " + std::to_string(edges()) +
           " edges, " + std::to_string(problem.heads) + " heads of " +
           std::to_string(problem.width) + ", dropout " + std::to_string(problem.dropout) + ", " +
           simd_target();
  }
};

struct GraphReference {
  std::vector<double> out, weights, grad_source, grad_target, grad_a_source, grad_a_target;
};

/// The formulas in plain loops over the caller's edges, in arithmetic of type T.
template <class T>
GraphReference graph_reference(const GraphCase& c) {
  const GraphProblem& p = c.problem;
  const std::int64_t H = p.heads, D = p.width, E = c.edges(), M = p.graph.targets,
                     N = p.graph.sources;
  const auto read = [](const Buffer& from) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < from.size(); ++i) values.push_back(static_cast<T>(from.get(i)));
    return values;
  };
  const std::vector<T> s = read(c.source_rows), t = p.own_targets ? read(c.target_rows) : s,
                       a = read(c.a_source), b = read(c.a_target), go = read(c.grad_out),
                       gw = read(c.grad_weights);
  const auto zeros = [](std::int64_t n) { return std::vector<T>(static_cast<std::size_t>(n), 0); };
  std::vector<T> out = zeros(M * H * D), weights = zeros(E * H), ds = zeros(N * H * D),
                 dt = zeros(M * H * D), da = zeros(H * D), db = zeros(H * D);
  const T slope = static_cast<T>(p.negative_slope);
  const auto leaky = [slope](T x) { return x > 0 ? x : slope * x; };
  const auto rise = [slope](T x) { return x > 0 ? T{1} : slope; };
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<std::uint8_t> keep(at(H * E), 1);
  for (std::int64_t e = 0; e < E && p.dropout > 0; ++e) {
    dropout_keep(p.seed, p.dropout, 0, 0, e, H, keep.data() + e * H);
  }
  for (std::int64_t h = 0; h < H; ++h) {
    std::vector<T> raw = zeros(E), score = zeros(E), gradient = zeros(E);
    std::vector<T> top(at(M), -std::numeric_limits<T>::infinity()), sum = zeros(M), mean = zeros(M);
    const auto j_of = [&](std::int64_t e) { return (c.source[at(e)] * H + h) * D; };
    const auto i_of = [&](std::int64_t e) { return (c.target[at(e)] * H + h) * D; };
    const auto factor = [&](std::int64_t e) {
      return keep[at(e * H + h)] ? static_cast<T>(1 / (1 - p.dropout)) : T{0};
    };
    for (std::int64_t e = 0; e < E; ++e) {
      T first = 0, second = 0;
      for (std::int64_t k = 0; k < D; ++k) {
        const T x = s[at(j_of(e) + k)], y = t[at(i_of(e) + k)];
        if (p.score == GraphScore::gat) {
          first += a[at(h * D + k)] * x, second += b[at(h * D + k)] * y;
        } else {
          first += a[at(h * D + k)] * leaky(x + y);
        }
      }
      raw[at(e)] = first + second;
      score[at(e)] = p.score == GraphScore::gat ? leaky(raw[at(e)]) : raw[at(e)];
      T& most = top[at(c.target[at(e)])];
      most = std::max(most, score[at(e)]);
    }
    for (std::int64_t e = 0; e < E; ++e) {
      const auto i = at(c.target[at(e)]);
      weights[at(e * H + h)] = std::exp(score[at(e)] - top[i]);
      sum[i] += weights[at(e * H + h)];
    }
    for (std::int64_t e = 0; e < E; ++e) {
      T& w = weights[at(e * H + h)];
      w /= sum[at(c.target[at(e)])];
      T product = 0;
      for (std::int64_t k = 0; k < D; ++k) {
        out[at(i_of(e) + k)] += w * factor(e) * s[at(j_of(e) + k)];
        product += go[at(i_of(e) + k)] * s[at(j_of(e) + k)];
      }
      gradient[at(e)] = product * factor(e) + (gw.empty() ? T{0} : gw[at(e * H + h)]);
      mean[at(c.target[at(e)])] += w * gradient[at(e)];
    }
    for (std::int64_t e = 0; e < E; ++e) {
      const T w = weights[at(e * H + h)];
      T of_score = w * (gradient[at(e)] - mean[at(c.target[at(e)])]);
      if (p.score == GraphScore::gat) of_score *= rise(raw[at(e)]);
      for (std::int64_t k = 0; k < D; ++k) {
        const T x = s[at(j_of(e) + k)], y = t[at(i_of(e) + k)];
        ds[at(j_of(e) + k)] += w * factor(e) * go[at(i_of(e) + k)];
        if (p.score == GraphScore::gat) {
          ds[at(j_of(e) + k)] += of_score * a[at(h * D + k)];
          dt[at(i_of(e) + k)] += of_score * b[at(h * D + k)];
          da[at(h * D + k)] += of_score * x;
          db[at(h * D + k)] += of_score * y;
        } else {
          const T through = of_score * a[at(h * D + k)] * rise(x + y);
          ds[at(j_of(e) + k)] += through;
          dt[at(i_of(e) + k)] += through;
          da[at(h * D + k)] += of_score * leaky(x + y);
        }
      }
    }
  }
  if (!p.own_targets) {
    for (std::size_t i = 0; i < ds.size(); ++i) ds[i] += dt[i];
  }
  const auto doubles = [](const std::vector<T>& x) {
    return std::vector<double>(x.begin(), x.end());
  };
  return {doubles(out), doubles(weights), doubles(ds), doubles(dt), doubles(da), doubles(db)};
}

}  // namespace heed::kernels::testing
