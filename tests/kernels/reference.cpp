#include "kernels/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heed/kernels/random.hpp"

namespace heed::kernels::testing {

static std::int64_t diagonal(const Case& c, std::int64_t b, std::int64_t keys) {
  const AttentionProblem& p = c.problem;
  static_cast<void>(b);
  return p.causal == Causal::none ? 0 : p.causal == Causal::offset ? p.offset : keys - p.queries;
}

static std::int64_t valid_keys(const Case& c, std::int64_t b) {
  return c.lengths.empty() ? c.problem.keys
                           : std::min(c.lengths[static_cast<std::size_t>(b)], c.problem.keys);
}

static std::int64_t pair_index(const Input& x, std::int64_t b, std::int64_t h, std::int64_t i,
                               std::int64_t j) {
  return b * x.stride[0] + h * x.stride[1] + i * x.stride[2] + j * x.stride[3];
}

bool visible(const Case& c, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  const AttentionProblem& p = c.problem;
  const std::int64_t keys = valid_keys(c, b), middle = i + diagonal(c, b, keys);
  if (j >= keys) return false;
  if (p.causal != Causal::none && j > middle) return false;
  if (p.window_left >= 0 && j < middle - p.window_left) return false;
  if (p.window_right >= 0 && j > middle + p.window_right) return false;
  if (p.mask.data != nullptr &&
      c.mask[static_cast<std::size_t>(pair_index(p.mask, b, h, i, j))] == 0)
    return false;
  if (p.bias.data != nullptr && c.bias.buffer.get(pair_index(p.bias, b, h, i, j)) ==
                                    -std::numeric_limits<double>::infinity()) {
    return false;
  }
  return true;
}

template <class R>
static R act(Activation kind, R x) {
  switch (kind) {
    case Activation::identity:
      return x;
    case Activation::tanh:
      return std::tanh(x);
    case Activation::relu:
      return x < 0 ? R{0} : x;
    case Activation::gelu:
      return x / 2 * (1 + std::erf(x / static_cast<R>(M_SQRT2)));
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return x;
}

/// By the formulas of the derivatives, for both types: differences would lose half the digits.
template <class R>
static R act_slope(Activation kind, R x) {
  const R y = act(kind, x);
  switch (kind) {
    case Activation::identity:
      return 1;
    case Activation::tanh:
      return 1 - y * y;
    case Activation::relu:
      return x > 0 ? R{1} : R{0};
    case Activation::gelu:
      return (1 + std::erf(x / static_cast<R>(M_SQRT2))) / 2 +
             x * std::exp(-x * x / 2) / static_cast<R>(std::sqrt(2 * M_PI));
    case Activation::sigmoid:
      return y * (1 - y);
  }
  return 1;
}

template <class R>
Reference reference(const Case& c, bool backward) {
  const AttentionProblem& p = c.problem;
  const R infinity = std::numeric_limits<R>::infinity();
  const auto B = p.batch, H = p.heads, G = p.kv_heads, Q = p.queries, K = p.keys, D = p.width,
             V = p.value_width;
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  Reference r;
  r.out.assign(size(B * H * Q * V), 0);
  r.lse.assign(size(B * H * Q), -infinity);
  r.entropy.assign(size(B * H * Q), 0);
  r.weights.assign(size(B * H * Q * K), 0);
  r.scores.assign(size(B * H * Q * K), 0);
  r.received.assign(size(B * H * K), 0);
  r.grad_query.assign(size(B * H * Q * D), 0);
  r.grad_key.assign(size(B * G * K * D), 0);
  r.grad_value.assign(size(B * G * K * V), 0);
  r.grad_bias.assign(size(B * H * Q * K), 0);
  r.grad_row.assign(size(B * H * Q), 0);
  r.grad_column.assign(size(B * H * K), 0);
  r.grad_sink.assign(size(H), 0);
  std::vector<std::uint8_t> kept(size(K) + 1, 1);
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      const std::int64_t g = h / (H / G);
      for (std::int64_t i = 0; i < Q; ++i) {
        const std::int64_t row = (b * H + h) * Q + i;
        std::vector<R> score(size(K), 0), slope(size(K), 0), weight(size(K), 0);
        std::vector<std::int64_t> seen;
        if (p.dropout > 0) dropout_keep(p.seed, p.dropout, b, h, i, K, kept.data());
        for (std::int64_t j = 0; j < K; ++j) {
          R dot = 0;
          for (std::int64_t w = 0; w < D; ++w) {
            dot += static_cast<R>(c.query.at(b, h, i, w)) * static_cast<R>(c.key.at(b, g, j, w));
          }
          if (c.row_bias.size() > 0) dot += static_cast<R>(c.row_bias.get(row));
          if (c.column_bias.size() > 0)
            dot += static_cast<R>(c.column_bias.get((b * H + h) * K + j));
          R s = static_cast<R>(p.scale) * act(p.activation, dot);
          slope[size(j)] = static_cast<R>(p.scale) * act_slope(p.activation, dot);
          if (p.softcap != 0) {
            const R t = std::tanh(s / static_cast<R>(p.softcap));
            slope[size(j)] *= 1 - t * t;
            s = static_cast<R>(p.softcap) * t;
          }
          if (p.bias.data != nullptr)
            s += static_cast<R>(c.bias.buffer.get(pair_index(p.bias, b, h, i, j)));
          if (p.alibi_slopes != nullptr) {
            s -= static_cast<R>(p.alibi_slopes[h]) *
                 static_cast<R>(std::abs(i + diagonal(c, b, valid_keys(c, b)) - j));
          }
          score[size(j)] = s;
          r.scores[size(row * K + j)] = s;
          if (visible(c, b, h, i, j)) seen.push_back(j);
        }
        if (seen.empty()) continue;
        R top = -infinity;
        for (const auto j : seen) top = std::max(top, score[size(j)]);
        if (p.sink != nullptr) top = std::max(top, static_cast<R>(c.sink.get(h)));
        R sum = p.sink != nullptr ? std::exp(static_cast<R>(c.sink.get(h)) - top) : R{0};
        for (const auto j : seen) sum += weight[size(j)] = std::exp(score[size(j)] - top);
        r.lse[size(row)] = top + std::log(sum);
        const R kept_scale = p.dropout < 1 ? static_cast<R>(1 / (1 - p.dropout)) : R{0};
        std::vector<R> out(size(V), 0);
        for (const auto j : seen) {
          const R w = weight[size(j)] /= sum;
          r.weights[size(row * K + j)] = w;
          r.received[size((b * H + h) * K + j)] += w;
          r.entropy[size(row)] += w * (top + std::log(sum) - score[size(j)]);
          const R used = p.dropout > 0 ? (kept[size(j)] ? w * kept_scale : R{0}) : w;
          for (std::int64_t x = 0; x < V; ++x)
            out[size(x)] += used * static_cast<R>(c.value.at(b, g, j, x));
        }
        for (std::int64_t x = 0; x < V; ++x) r.out[size(row * V + x)] = out[size(x)];
        if (!backward) continue;

        R mean = 0;  // Σ_j p_j dp_j = dout · out
        std::vector<R> grad_weight(size(K), 0);
        for (const auto j : seen) {
          R dot = 0;
          for (std::int64_t x = 0; x < V; ++x) {
            const R go = static_cast<R>(c.grad_out.at(b, h, i, x));
            dot += go * static_cast<R>(c.value.at(b, g, j, x));
            const R used = p.dropout > 0 ? (kept[size(j)] ? weight[size(j)] * kept_scale : R{0})
                                         : weight[size(j)];
            r.grad_value[size(((b * G + g) * K + j) * V + x)] += used * go;
          }
          if (p.dropout > 0) dot = kept[size(j)] ? dot * kept_scale : R{0};
          grad_weight[size(j)] = dot;
          mean += weight[size(j)] * dot;
        }
        for (const auto j : seen) {
          const R grad_score = weight[size(j)] * (grad_weight[size(j)] - mean);
          const R grad_dot = grad_score * slope[size(j)];
          r.grad_bias[size(row * K + j)] = grad_score;
          r.grad_row[size(row)] += grad_dot;
          r.grad_column[size((b * H + h) * K + j)] += grad_dot;
          for (std::int64_t w = 0; w < D; ++w) {
            r.grad_query[size(row * D + w)] += grad_dot * static_cast<R>(c.key.at(b, g, j, w));
            r.grad_key[size(((b * G + g) * K + j) * D + w)] +=
                grad_dot * static_cast<R>(c.query.at(b, h, i, w));
          }
        }
        if (p.sink != nullptr) {
          r.grad_sink[size(h)] -= std::exp(static_cast<R>(c.sink.get(h)) - top) / sum * mean;
        }
      }
    }
  }
  // Sums over queries were kept in double above; the type's own rounding is applied once.
  for (auto* sums : {&r.grad_key, &r.grad_value, &r.grad_query, &r.received}) {
    for (double& x : *sums) x = static_cast<R>(x);
  }
  return r;
}

template Reference reference<double>(const Case&, bool);
template Reference reference<float>(const Case&, bool);

}  // namespace heed::kernels::testing
