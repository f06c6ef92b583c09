#include "kernels/linear_reference.hpp"

#include <cmath>
#include <sstream>

namespace heed::kernels::testing {

void LinearCase::connect() {
  problem.query = query.input(), problem.key = key.input(), problem.value = value.input();
  problem.decay = has_decay(problem.rule) ? decay.input() : Input{};
  problem.beta = has_beta(problem.rule) ? beta.input() : Input{};
  problem.state = with_state ? state.input() : Input{};
}

LinearOutputGradients LinearCase::given() const {
  return {.out = with_grad_out ? grad_out.input() : Input{},
          .state = with_grad_state ? grad_state.input() : Input{}};
}

std::string LinearCase::describe() const {
  const LinearProblem& p = problem;
  std::ostringstream s;
  s << simd_target() << " type " << int(p.type) << " rule " << int(p.rule) << " B" << p.batch
    << " H" << p.heads << " G" << p.kv_heads << " L" << p.length << " D" << p.width << " V"
    << p.value_width << " decay " << p.decay_width << " scale " << p.scale << " state "
    << with_state << " grads " << with_grad_out << with_grad_state << " strides "
    << p.query.stride[2] << "," << p.query.stride[3];
  return s.str();
}

LinearCase make_linear_case(const LinearCaseOptions& o, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  LinearCase c;
  LinearProblem& p = c.problem;
  p = {.type = o.type,
       .rule = o.rule,
       .batch = o.batch,
       .heads = o.heads,
       .kv_heads = o.kv_heads,
       .length = o.length,
       .width = o.width,
       .value_width = o.value_width};
  p.decay_width = o.wide_decay ? o.width : 1;
  p.decay_type = p.beta_type = o.type;
  p.scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(o.width, 1)));
  const auto fill = [&](Tensor& x, Type type, std::int64_t heads, std::int64_t rows,
                        std::int64_t width, const std::function<double()>& next) {
    x = Tensor(type, {o.batch, heads, rows, width}, o.layout);
    x.fill(next);
  };
  const auto any = [&] { return normal(random); };
  fill(c.query, o.type, o.heads, o.length, o.width, any);
  fill(c.key, o.type, o.kv_heads, o.length, o.width, [&] { return p.scale * normal(random); });
  fill(c.value, o.type, o.kv_heads, o.length, o.value_width, any);
  fill(c.decay, o.type, o.kv_heads, o.length, p.decay_width,
       [&] { return -std::abs(0.3 * normal(random)); });
  fill(c.beta, o.type, o.kv_heads, o.length, 1, [&] { return uniform(random); });
  fill(c.state, c.working(), o.kv_heads, o.width, o.value_width, any);
  fill(c.grad_out, o.type, o.heads, o.length, o.value_width, any);
  fill(c.grad_state, c.working(), o.kv_heads, o.width, o.value_width, any);
  c.connect();
  return c;
}

LinearCase random_linear_case(Type type, std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<std::int64_t> from) {
    return *(from.begin() + std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random));
  };
  const std::int64_t G = pick({1, 2}), H = G * pick({1, 1, 3});
  LinearCase c = make_linear_case({.type = type,
                                   .rule = static_cast<LinearRule>(pick({0, 1, 2, 3})),
                                   .batch = pick({1, 2}),
                                   .heads = H,
                                   .kv_heads = G,
                                   .length = pick({0, 1, 2, 5, 15, 16, 17, 31, 32, 33, 65, 70}),
                                   .width = pick({0, 1, 3, 8, 16, 20}),
                                   .value_width = pick({0, 1, 5, 8, 24, 65, 129}),
                                   .wide_decay = pick({0, 1}) == 1,
                                   .layout = static_cast<Layout>(pick({0, 1, 2}))},
                                  random);
  c.with_state = pick({0, 1}) == 1;
  c.with_grad_out = pick({0, 1, 1, 1}) == 1;
  c.with_grad_state = pick({0, 1}) == 1;
  if (pick({0, 1}) == 1) c.problem.scale = 0.7;
  c.connect();
  return c;
}

namespace {

/// One (entry, key/value head): states of every step, kept for the gradients.
template <class T>
struct Head {
  const LinearCase& c;
  const LinearProblem& p = c.problem;
  std::int64_t b, g;
  std::vector<std::vector<T>> faded, after;  // S before and after the write of each step
  std::vector<std::vector<T>> error;         // v − Sᵀk, or v

  std::vector<T> row(const Tensor& x, std::int64_t head, std::int64_t t) const {
    std::vector<T> result;
    for (std::int64_t i = 0; i < x.shape[3]; ++i) {
      result.push_back(static_cast<T>(x.at(b, head, t, i)));
    }
    return result;
  }
  std::vector<T> matrix(const Tensor& x, bool given) const {
    std::vector<T> result;
    for (std::int64_t i = 0; i < p.width; ++i) {
      for (const T element : row(x, g, i)) result.push_back(given ? element : T{0});
    }
    return result;
  }
  /// e^g of each row of the state; ones without a decay.
  std::vector<T> decays(std::int64_t t) const {
    std::vector<T> result(static_cast<std::size_t>(p.width), T{1});
    if (!has_decay(p.rule)) return result;
    const std::vector<T> given = row(c.decay, g, t);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::exp(given[i % given.size()]);
    return result;
  }
  T beta_at(std::int64_t t) const {
    return has_beta(p.rule) ? static_cast<T>(c.beta.at(b, g, t, 0)) : T{1};
  }

  void forward() {
    const auto D = static_cast<std::size_t>(p.width), V = static_cast<std::size_t>(p.value_width);
    std::vector<T> S = matrix(c.state, c.with_state);
    for (std::int64_t t = 0; t < p.length; ++t) {
      const std::vector<T> k = row(c.key, g, t), fade = decays(t);
      std::vector<T> e = row(c.value, g, t);
      for (std::size_t n = 0; n < D * V; ++n) S[n] *= fade[n / V];
      faded.push_back(S);
      for (std::size_t j = 0; j < V && has_beta(p.rule); ++j) {
        T held = 0;
        for (std::size_t i = 0; i < D; ++i) held += S[i * V + j] * k[i];
        e[j] -= held;
      }
      const T beta = beta_at(t);
      for (std::size_t n = 0; n < D * V; ++n) S[n] += k[n / V] * (beta * e[n % V]);
      error.push_back(e);
      after.push_back(S);
    }
  }

  /// Adds to the contiguous gradients of `r`.
  void backward(LinearReference& r) const {
    const auto D = static_cast<std::size_t>(p.width), V = static_cast<std::size_t>(p.value_width),
               L = static_cast<std::size_t>(p.length), W = static_cast<std::size_t>(p.decay_width);
    const std::int64_t group = p.heads / p.kv_heads;
    const T scale = static_cast<T>(p.scale);
    std::vector<T> dS = matrix(c.grad_state, c.with_grad_state);
    for (std::int64_t step = p.length - 1; step >= 0; --step) {
      const auto t = static_cast<std::size_t>(step);
      const std::vector<T>&S = after[t], &before = faded[t], &e = error[t];
      const std::vector<T> k = row(c.key, g, step), fade = decays(step);
      for (std::int64_t h = g * group; h < (g + 1) * group && c.with_grad_out; ++h) {
        const std::vector<T> q = row(c.query, h, step), out = row(c.grad_out, h, step);
        std::vector<T> dq(D);
        for (std::size_t n = 0; n < D * V; ++n) {
          dq[n / V] += S[n] * out[n % V];
          dS[n] += scale * q[n / V] * out[n % V];
        }
        const auto at = (static_cast<std::size_t>(b * p.heads + h) * L + t) * D;
        for (std::size_t i = 0; i < D; ++i) r.query[at + i] = scale * dq[i];
      }
      const std::size_t at = static_cast<std::size_t>(b * p.kv_heads + g) * L + t;
      const T beta = beta_at(step);
      std::vector<T> dw(V), dk(D), dg(D);
      T dbeta = 0;
      for (std::size_t n = 0; n < D * V; ++n) {
        dw[n % V] += dS[n] * k[n / V];
        dk[n / V] += dS[n] * (beta * e[n % V]);
      }
      for (std::size_t j = 0; j < V; ++j) {
        dbeta += dw[j] * e[j];
        r.value[at * V + j] = beta * dw[j];
      }
      for (std::size_t n = 0; n < D * V; ++n) {
        if (has_beta(p.rule)) {
          dk[n / V] -= before[n] * (beta * dw[n % V]);
          dS[n] -= k[n / V] * (beta * dw[n % V]);
        }
        dg[n / V] += dS[n] * before[n];
        dS[n] *= fade[n / V];
      }
      r.beta[at] = dbeta;
      for (std::size_t i = 0; i < D; ++i) {
        r.key[at * D + i] = dk[i];
        if (W > 0) r.decay[at * W + i % W] = static_cast<T>(r.decay[at * W + i % W]) + dg[i];
      }
    }
    const std::size_t first = static_cast<std::size_t>(b * p.kv_heads + g) * D * V;
    std::copy(dS.begin(), dS.end(), r.initial.begin() + static_cast<std::ptrdiff_t>(first));
  }
};

}  // namespace

template <class Rounded>
LinearReference linear_reference(const LinearCase& c, bool backward) {
  const LinearProblem& p = c.problem;
  const auto zeros = [](std::int64_t n) {
    return std::vector<double>(static_cast<std::size_t>(n));
  };
  const std::int64_t rows = p.batch * p.kv_heads * p.length, D = p.width, V = p.value_width;
  LinearReference r;
  r.query = zeros(p.batch * p.heads * p.length * D), r.key = zeros(rows * D);
  r.value = zeros(rows * V), r.decay = zeros(rows * p.decay_width), r.beta = zeros(rows);
  r.initial = zeros(p.batch * p.kv_heads * D * V), r.state = r.initial;
  r.out = zeros(p.batch * p.heads * p.length * V);
  const std::int64_t group = p.kv_heads > 0 ? p.heads / p.kv_heads : 0;
  for (std::int64_t n = 0; n < p.batch * p.kv_heads; ++n) {
    Head<Rounded> head{.c = c, .b = n / p.kv_heads, .g = n % p.kv_heads};
    head.forward();
    for (std::int64_t h = head.g * group; h < (head.g + 1) * group; ++h) {
      for (std::int64_t t = 0; t < p.length; ++t) {
        const std::vector<Rounded> q = head.row(c.query, h, t);
        const Rounded* S = head.after[static_cast<std::size_t>(t)].data();
        double* out = r.out.data() + ((head.b * p.heads + h) * p.length + t) * V;
        for (std::int64_t j = 0; j < V; ++j) {
          Rounded sum = 0;
          for (std::int64_t i = 0; i < D; ++i) sum += q[static_cast<std::size_t>(i)] * S[i * V + j];
          out[j] = static_cast<Rounded>(p.scale) * sum;
        }
      }
    }
    const auto last = p.length > 0 ? head.after.back() : head.matrix(c.state, c.with_state);
    std::copy(last.begin(), last.end(), r.state.begin() + n * D * V);
    if (backward) head.backward(r);
  }
  return r;
}

template LinearReference linear_reference<double>(const LinearCase&, bool);
template LinearReference linear_reference<float>(const LinearCase&, bool);

}  // namespace heed::kernels::testing
