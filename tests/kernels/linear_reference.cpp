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

/// One (entry, key/value head): states after every step, kept for the gradients.
template <class T>
struct Head {
  const LinearCase& c;
  const LinearProblem& p = c.problem;
  std::int64_t b, g;
  std::vector<std::vector<T>> faded, after;  // S before and after the write of each step
  std::vector<std::vector<T>> error;         // v − Sᵀk, or v

  T decay_at(std::int64_t t, std::int64_t i) const {
    return static_cast<T>(c.decay.at(b, g, t, p.decay_width == 1 ? 0 : i));
  }
  T beta_at(std::int64_t t) const {
    return has_beta(p.rule) ? static_cast<T>(c.beta.at(b, g, t, 0)) : T{1};
  }
  T key_at(std::int64_t t, std::int64_t i) const { return static_cast<T>(c.key.at(b, g, t, i)); }
  T query_at(std::int64_t h, std::int64_t t, std::int64_t i) const {
    return static_cast<T>(c.query.at(b, h, t, i));
  }

  std::vector<T> initial() const {
    std::vector<T> state(static_cast<std::size_t>(p.width * p.value_width));
    for (std::int64_t n = 0; n < p.width * p.value_width && c.with_state; ++n) {
      state[static_cast<std::size_t>(n)] =
          static_cast<T>(c.state.at(b, g, n / p.value_width, n % p.value_width));
    }
    return state;
  }

  void forward() {
    const auto D = p.width, V = p.value_width;
    std::vector<T> S = initial();
    const auto at = [V](std::int64_t i, std::int64_t j) {
      return static_cast<std::size_t>(i * V + j);
    };
    for (std::int64_t t = 0; t < p.length; ++t) {
      for (std::int64_t i = 0; i < D && has_decay(p.rule); ++i) {
        for (std::int64_t j = 0; j < V; ++j) S[at(i, j)] *= std::exp(decay_at(t, i));
      }
      faded.push_back(S);
      std::vector<T> e;
      for (std::int64_t j = 0; j < V; ++j) {
        T held = 0;
        for (std::int64_t i = 0; i < D && has_beta(p.rule); ++i) held += S[at(i, j)] * key_at(t, i);
        e.push_back(static_cast<T>(c.value.at(b, g, t, j)) - held);
      }
      for (std::int64_t i = 0; i < D; ++i) {
        for (std::int64_t j = 0; j < V; ++j) {
          S[at(i, j)] += key_at(t, i) * (beta_at(t) * e[static_cast<std::size_t>(j)]);
        }
      }
      error.push_back(e);
      after.push_back(S);
    }
  }

  /// Adds to the contiguous gradients of `r`.
  void backward(LinearReference& r) const {
    const auto D = p.width, V = p.value_width, L = p.length, group = p.heads / p.kv_heads;
    const auto at = [V](std::int64_t i, std::int64_t j) {
      return static_cast<std::size_t>(i * V + j);
    };
    std::vector<T> dS(static_cast<std::size_t>(D * V));
    for (std::int64_t n = 0; n < D * V && c.with_grad_state; ++n) {
      dS[static_cast<std::size_t>(n)] = static_cast<T>(c.grad_state.at(b, g, n / V, n % V));
    }
    for (std::int64_t t = L - 1; t >= 0; --t) {
      const auto& S = after[static_cast<std::size_t>(t)];
      const auto& before = faded[static_cast<std::size_t>(t)];
      const auto& e = error[static_cast<std::size_t>(t)];
      const T beta = beta_at(t), scale = static_cast<T>(p.scale);
      for (std::int64_t h = g * group; h < (g + 1) * group && c.with_grad_out; ++h) {
        for (std::int64_t i = 0; i < D; ++i) {
          T sum = 0;
          for (std::int64_t j = 0; j < V; ++j) {
            const T out = static_cast<T>(c.grad_out.at(b, h, t, j));
            sum += S[at(i, j)] * out;
            dS[at(i, j)] += scale * query_at(h, t, i) * out;
          }
          r.query[static_cast<std::size_t>(((b * p.heads + h) * L + t) * D + i)] = scale * sum;
        }
      }
      const std::int64_t row = (b * p.kv_heads + g) * L + t;
      std::vector<T> de, dk(static_cast<std::size_t>(D));
      T dbeta = 0;
      for (std::int64_t j = 0; j < V; ++j) {
        T dw = 0;
        for (std::int64_t i = 0; i < D; ++i) {
          dw += dS[at(i, j)] * key_at(t, i);
          dk[static_cast<std::size_t>(i)] += dS[at(i, j)] * (beta * e[static_cast<std::size_t>(j)]);
        }
        dbeta += dw * e[static_cast<std::size_t>(j)];
        de.push_back(beta * dw);
        r.value[static_cast<std::size_t>(row * V + j)] = de.back();
      }
      r.beta[static_cast<std::size_t>(row)] = dbeta;
      for (std::int64_t i = 0; i < D; ++i) {
        T dg = 0;
        for (std::int64_t j = 0; j < V; ++j) {
          if (has_beta(p.rule)) {
            dk[static_cast<std::size_t>(i)] -= before[at(i, j)] * de[static_cast<std::size_t>(j)];
            dS[at(i, j)] -= key_at(t, i) * de[static_cast<std::size_t>(j)];
          }
          dg += dS[at(i, j)] * before[at(i, j)];
          if (has_decay(p.rule)) dS[at(i, j)] *= std::exp(decay_at(t, i));
        }
        r.key[static_cast<std::size_t>(row * D + i)] = dk[static_cast<std::size_t>(i)];
        if (p.decay_width > 0) {
          auto& to =
              r.decay[static_cast<std::size_t>(row * p.decay_width + (p.decay_width == 1 ? 0 : i))];
          to = static_cast<T>(to) + dg;
        }
      }
    }
    const std::int64_t first = (b * p.kv_heads + g) * D * V;
    for (std::int64_t n = 0; n < D * V; ++n) {
      r.initial[static_cast<std::size_t>(first + n)] = dS[static_cast<std::size_t>(n)];
    }
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
        for (std::int64_t j = 0; j < V; ++j) {
          Rounded sum = 0;
          for (std::int64_t i = 0; i < D; ++i) {
            sum += head.query_at(h, t, i) *
                   head.after[static_cast<std::size_t>(t)][static_cast<std::size_t>(i * V + j)];
          }
          r.out[static_cast<std::size_t>(((head.b * p.heads + h) * p.length + t) * V + j)] =
              static_cast<Rounded>(p.scale) * sum;
        }
      }
    }
    const auto& last = p.length > 0 ? head.after.back() : head.initial();
    for (std::int64_t i = 0; i < D * V; ++i) {
      r.state[static_cast<std::size_t>(n * D * V + i)] = last[static_cast<std::size_t>(i)];
    }
    if (backward) head.backward(r);
  }
  return r;
}

template LinearReference linear_reference<double>(const LinearCase&, bool);
template LinearReference linear_reference<float>(const LinearCase&, bool);

}  // namespace heed::kernels::testing
