#include "kernels/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heed/kernels/random.hpp"

namespace heed::kernels::testing {

static std::int64_t diagonal(const Case& c, std::int64_t b, std::int64_t keys) {
  const AttentionProblem& p = c.problem;
  static_cast<void>(b);
  return p.causal == Causal::bottom_right ? keys - p.queries : p.offset;
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
  if (p.align == Align::local_p) {
    const double center = c.center.get((b * p.heads + h) * p.queries + i);
    if (std::abs(static_cast<double>(j) - center) > p.reach) return false;
  }
  return true;
}

/// The weights of a row, and their gains: d weight_i / d score_j = gain_i ([i = j] - gain_j / Σ).
template <class R>
struct Row {
  std::vector<R> weight, gain;
  R lse = 0, logp = 0;
};

template <class R>
static Row<R> soft_row(const std::vector<R>& score, const std::vector<std::int64_t>& seen) {
  Row<R> row{std::vector<R>(score.size(), 0), {}};
  R top = -std::numeric_limits<R>::infinity(), sum = 0;
  const auto at = [](std::int64_t j) { return static_cast<std::size_t>(j); };
  for (const auto j : seen) top = std::max(top, score[at(j)]);
  for (const auto j : seen) sum += row.weight[at(j)] = std::exp(score[at(j)] - top);
  for (const auto j : seen) row.weight[at(j)] /= sum;
  row.gain = row.weight;
  row.lse = top + std::log(sum);
  return row;
}

/// By halving: shares nothing with Newton's method in lanes.
template <class R>
static Row<R> entmax_row(const std::vector<R>& score, const std::vector<std::int64_t>& seen,
                         R alpha) {
  Row<R> row{std::vector<R>(score.size(), 0), std::vector<R>(score.size(), 0)};
  const auto at = [](std::int64_t j) { return static_cast<std::size_t>(j); };
  R top = -std::numeric_limits<R>::infinity();
  for (const auto j : seen) top = std::max(top, score[at(j)]);
  const auto fill = [&](R mark) {
    R sum = 0;
    for (const auto j : seen) {
      const R x = (alpha - 1) * (score[at(j)] - top) - mark;
      sum += row.weight[at(j)] = x > 0 ? std::pow(x, 1 / (alpha - 1)) : R{0};
    }
    return sum;
  };
  R low = -1, high = 0;
  for (int i = 0; i < 100; ++i) (fill((low + high) / 2) >= 1 ? low : high) = (low + high) / 2;
  const R sum = fill(low);
  for (const auto j : seen) {
    R& w = row.weight[at(j)];
    w /= sum;
    row.gain[at(j)] = w > 0 ? std::pow(w, 2 - alpha) : R{0};
  }
  return row;
}

template <class R>
static Row<R> align_row(const Case& c, std::int64_t b, std::int64_t h, std::int64_t i,
                        const std::vector<R>& score, std::vector<std::int64_t> seen) {
  const AttentionProblem& p = c.problem;
  const auto at = [](std::int64_t j) { return static_cast<std::size_t>(j); };
  switch (p.align) {
    case Align::soft:
      return soft_row(score, seen);
    case Align::sparsemax:
      return entmax_row(score, seen, R{2});
    case Align::entmax15:
      return entmax_row(score, seen, static_cast<R>(1.5));
    case Align::entmax:
      return entmax_row(score, seen, static_cast<R>(c.alpha.get(h)));
    case Align::sigmoid: {
      Row<R> row{std::vector<R>(score.size(), 0), std::vector<R>(score.size(), 0)};
      for (const auto j : seen) {
        const R w = 1 / (1 + std::exp(-score[at(j)]));
        row.weight[at(j)] = w, row.gain[at(j)] = w * (1 - w);
      }
      return row;
    }
    case Align::top_k:
      std::stable_sort(seen.begin(), seen.end(),
                       [&](auto x, auto y) { return score[at(x)] > score[at(y)]; });
      if (static_cast<std::int64_t>(seen.size()) > p.top) seen.resize(at(p.top));
      return soft_row(score, seen);
    case Align::hard: {
      Row<R> row = soft_row(score, seen);
      std::int64_t chosen = seen.front();
      if (p.sample) {
        R running = 0;
        for (const auto j : seen) {
          chosen = j;
          if ((running += row.weight[at(j)]) > static_cast<R>(row_uniform(p.seed, b, h, i))) break;
        }
      } else {
        for (const auto j : seen) chosen = score[at(j)] > score[at(chosen)] ? j : chosen;
      }
      std::fill(row.weight.begin(), row.weight.end(), R{0});
      row.weight[at(chosen)] = 1;
      row.logp = score[at(chosen)] - row.lse;
      return row;
    }
    case Align::local_p: {
      Row<R> row = soft_row(score, seen);
      const R center = static_cast<R>(c.center.get((b * p.heads + h) * p.queries + i));
      const R sigma = static_cast<R>(p.reach / 2);
      for (const auto j : seen) {
        const R off = (static_cast<R>(j) - center) / sigma;
        row.weight[at(j)] *= std::exp(-off * off / 2);
      }
      return row;
    }
  }
  return {};
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
  r.grad_alpha.assign(size(H), 0);
  r.grad_center.assign(size(B * H * Q), 0);
  r.logp.assign(size(B * H * Q), 0);
  r.grad_weight.assign(size(H * D), 0);
  const bool additive = p.score == Score::additive;
  const auto v_of = [&](std::int64_t h, std::int64_t w) {
    return static_cast<R>(c.weight.get(h * p.weight_stride + w));
  };
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
            const R x = static_cast<R>(c.query.at(b, h, i, w)),
                    y = static_cast<R>(c.key.at(b, g, j, w));
            dot += additive ? v_of(h, w) * act(p.activation, x + y) : x * y;
          }
          if (c.row_bias.size() > 0) dot += static_cast<R>(c.row_bias.get(row));
          if (c.column_bias.size() > 0)
            dot += static_cast<R>(c.column_bias.get((b * H + h) * K + j));
          const Activation outer = additive ? Activation::identity : p.activation;
          R s = static_cast<R>(p.scale) * act(outer, dot);
          slope[size(j)] = static_cast<R>(p.scale) * act_slope(outer, dot);
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
        Row<R> aligned = align_row(c, b, h, i, score, seen);
        if (p.sink != nullptr) {  // soft: one more term below
          const R sink = static_cast<R>(c.sink.get(h)), high = std::max(aligned.lse, sink);
          const R lse = high + std::log(std::exp(aligned.lse - high) + std::exp(sink - high));
          for (R& w : aligned.weight) w *= std::exp(aligned.lse - lse);
          aligned.gain = aligned.weight, aligned.lse = lse;
        }
        weight = aligned.weight;
        r.lse[size(row)] = aligned.lse;
        r.logp[size(row)] = aligned.logp;
        const R kept_scale = p.dropout < 1 ? static_cast<R>(1 / (1 - p.dropout)) : R{0};
        std::vector<R> out(size(V), 0);
        for (const auto j : seen) {
          const R w = weight[size(j)];
          r.weights[size(row * K + j)] = w;
          r.received[size((b * H + h) * K + j)] += w;
          if (w > 0) r.entropy[size(row)] -= w * std::log(w);
          const R used = p.dropout > 0 ? (kept[size(j)] ? w * kept_scale : R{0}) : w;
          for (std::int64_t x = 0; x < V; ++x)
            out[size(x)] += used * static_cast<R>(c.value.at(b, g, j, x));
        }
        for (std::int64_t x = 0; x < V; ++x) r.out[size(row * V + x)] = out[size(x)];
        if (!backward) continue;

        // Σ_j g_j dp_j / Σ_j g_j
        R mean = 0, gains = 0;
        const R grad_lse = c.grad_lse.empty() ? R{0} : static_cast<R>(c.grad_lse[size(row)]);
        const bool hard = p.align == Align::hard;
        const R center = p.align == Align::local_p ? static_cast<R>(c.center.get(row)) : R{0};
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
          if (p.align == Align::local_p) {  // through the Gaussian, to the score and to the center
            const R sigma = static_cast<R>(p.reach / 2), off = static_cast<R>(j) - center;
            r.grad_center[size(row)] += weight[size(j)] * dot * off / (sigma * sigma);
            grad_weight[size(j)] = dot * std::exp(-off * off / (2 * sigma * sigma));
          }
          mean += aligned.gain[size(j)] * grad_weight[size(j)];
          gains += aligned.gain[size(j)];
        }
        if (p.sink != nullptr) gains = 1;
        mean = gains > 0 ? mean / gains : R{0};
        if (p.align == Align::sigmoid) mean = 0;
        if (p.align == Align::entmax) {
          const R rate = static_cast<R>(c.alpha.get(h)) - 1;
          R surprise = 0;
          for (const auto j : seen) {
            if (weight[size(j)] > 0) surprise -= weight[size(j)] * std::log(weight[size(j)]);
          }
          for (const auto j : seen) {
            const R w = weight[size(j)], share = aligned.gain[size(j)] / gains;
            const R own = w > 0 ? -w * std::log(w) : R{0};
            r.grad_alpha[size(h)] += grad_weight[size(j)] * ((w - share) / (rate * rate) +
                                                             (own - share * surprise) / rate);
          }
        }
        for (const auto j : seen) {
          const R through = hard && !p.straight_through ? R{0} : grad_weight[size(j)] - mean;
          R grad_score = aligned.gain[size(j)] * through;
          // lse falls on the softmax; logp is the chosen score minus lse.
          grad_score += hard ? grad_lse * (weight[size(j)] - aligned.gain[size(j)])
                             : grad_lse * aligned.gain[size(j)];
          const R grad_dot = grad_score * slope[size(j)];
          r.grad_bias[size(row * K + j)] = grad_score;
          r.grad_row[size(row)] += grad_dot;
          r.grad_column[size((b * H + h) * K + j)] += grad_dot;
          for (std::int64_t w = 0; w < D; ++w) {
            const R x = static_cast<R>(c.query.at(b, h, i, w)),
                    y = static_cast<R>(c.key.at(b, g, j, w));
            const R bend = additive ? v_of(h, w) * act_slope(p.activation, x + y) : R{0};
            r.grad_query[size(row * D + w)] += grad_dot * (additive ? bend : y);
            r.grad_key[size(((b * G + g) * K + j) * D + w)] += grad_dot * (additive ? bend : x);
            if (additive) r.grad_weight[size(h * D + w)] += grad_dot * act(p.activation, x + y);
          }
        }
        if (p.sink != nullptr) {
          const R share = std::exp(static_cast<R>(c.sink.get(h)) - aligned.lse);
          r.grad_sink[size(h)] += share * (grad_lse - mean);
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
