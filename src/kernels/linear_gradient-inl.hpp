// Gradients of one chunk of linear attention, compiled per target; the formulas of a chunk are in
// linear_chunk-inl.hpp, and `grad_x` is the gradient to x of the loss.
#if defined(HEED_KERNELS_LINEAR_GRADIENT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_LINEAR_GRADIENT_INL
#undef HEED_KERNELS_LINEAR_GRADIENT_INL
#else
#define HEED_KERNELS_LINEAR_GRADIENT_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/linear_chunk-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What a chunk's gradients are made of, and the gradients: rows as in LinearChunk.
template <class T>
struct LinearChunkGradients {
  explicit LinearChunkGradients(LinearChunk<T>& chunk)
      : x(chunk),
        out(x.memory.take(x.group * x.limit * x.columns)),
        write(x.memory.take(x.limit * x.columns)),
        read(x.memory.take(x.limit * x.columns)),
        query(x.memory.take(x.group * x.limit * x.width)),
        key(x.memory.take(x.limit * x.width)),
        decay(x.memory.take(x.limit * x.width)),
        beta(x.memory.take(x.limit)),
        score(x.memory.take(x.group * x.limit * x.pitch)),
        overlap(x.memory.take(x.limit * x.pitch)),
        used(x.memory.take(x.limit * x.width)),
        product_row(x.memory.take(x.limit * x.width)),
        turned(x.memory.take(x.columns * x.width)),
        turned_grad(x.memory.take(x.columns * x.width)),
        running(x.memory.take((x.limit + 1) * x.width)) {}

  /// `state` is that before the chunk, x.value and x.write what `solve` made of it. Turns
  /// `grad_state`, to the state after the chunk, into that to the state before it.
  void run(const LinearProblem& p, const T* state, T* grad_state) {
    to_writes(p, grad_state);
    if (x.delta) to_reads();
    turn(state, p.width, turned);
    turn(grad_state, p.width, turned_grad);
    to_operands();
    pair_products();
    if (x.wide_decay) {
      pairs_by_elements();
    } else {
      pairs_by_products();
    }
    to_state(p, grad_state);
  }

  T* out_of(std::int64_t h) const { return out + h * x.limit * x.columns; }
  T* query_of(std::int64_t h) const { return query + h * x.limit * x.width; }
  T* score_of(std::int64_t h) const { return score + h * x.limit * x.pitch; }

  LinearChunk<T>& x;
  T* out;    // [group][limit][columns], given
  T* write;  // [limit][columns]: to what a step writes; then to its value
  T* read;   // [limit][columns]: to what a step reads of the state by its key; delta rules
  T* query;  // [group][limit][width]: to the scaled queries
  T* key;    // [limit][width]
  T* decay;  // [limit][width], to be summed over the width when a step has one number
  T* beta;   // [limit]
  T* score;  // to the pairs of LinearChunk, before their decays
  T* overlap;
  T* used;         // [limit][width]: what the decays since the start multiply, times its gradient
  T* product_row;  // [limit][width]
  T* turned;       // the state before the chunk, [columns][width]
  T* turned_grad;  // the gradient to the state after it, likewise
  T* running;      // [limit + 1][width]

 private:
  void turn(const T* from, std::int64_t rows, T* to) const {
    rows_to_panel(Rows<T>{from, x.columns}, rows, x.columns, x.width, to);
  }

  void to_writes(const LinearProblem& p, const T* grad_state) {
    const hn::ScalableTag<T> d;
    product(x.count, Broadcast<T>{x.to_key, x.width, 1}, grad_state, x.columns, p.width, x.columns,
            [&](std::int64_t t, std::int64_t c, auto sum)
                HWY_ATTR { hn::Store(sum, d, write + t * x.columns + c); });
    for (std::int64_t h = 0; h < x.group; ++h) {
      for (std::int64_t s = 0; s < x.count; ++s) {
        add_rows(x.score_of(h) + s * x.pitch + s, x.pitch, out_of(h) + s * x.columns, x.columns,
                 x.count - s, x.columns, write + s * x.columns);
      }
    }
  }

  // Last step first: what a step reads was written by those before it.
  void to_reads() {
    for (std::int64_t s = x.count - 1; s >= 0; --s) {
      T* row = write + s * x.columns;
      T* back = read + s * x.columns;
      add_rows(x.overlap + (s + 1) * x.pitch + s, x.pitch, back + x.columns, x.columns,
               x.count - s - 1, x.columns, row);
      beta[s] = x.dot(row, x.value + s * x.columns, x.columns);
      for (std::int64_t c = 0; c < x.columns; ++c) {
        row[c] *= x.beta[s];
        back[c] = -row[c];
      }
    }
  }

  // Through the state before the chunk and the gradient to the one after it.
  void to_operands() {
    const std::int64_t size = x.count * x.width;
    std::fill(used, used + size, T{0});
    const auto rows_by = [&](const T* rows, const T* matrix) HWY_ATTR {
      const hn::ScalableTag<T> d;
      product(x.count, Broadcast<T>{rows, x.columns, 1}, matrix, x.width, x.columns, x.width,
              [&](std::int64_t t, std::int64_t c, auto sum)
                  HWY_ATTR { hn::Store(sum, d, product_row + t * x.width + c); });
    };
    const auto from_start = [&](const T* rows, const T* operand, T* grad) HWY_ATTR {
      rows_by(rows, turned);
      for (std::int64_t i = 0; i < size; ++i) {
        grad[i] = x.decays ? product_row[i] * x.from[i] : product_row[i];
        if (x.decays) used[i] += operand[i] * grad[i];
      }
    };
    for (std::int64_t h = 0; h < x.group; ++h) from_start(out_of(h), x.query_of(h), query_of(h));
    if (x.delta) {
      from_start(read, x.key, key);
    } else {
      std::fill(key, key + size, T{0});
    }
    rows_by(x.write, turned_grad);
    for (std::int64_t i = 0; i < size; ++i) {
      if (x.decays) product_row[i] *= x.to[i];
      key[i] += product_row[i];
      product_row[i] *= x.key[i];
    }
    if (x.decays) decays_across();
  }

  // Decays of whole stretches: from the start to step t, from t to the end, and of all the chunk.
  void decays_across() {
    const T* whole = x.from + (x.count - 1) * x.width;
    T* sum = running;
    std::fill(sum, sum + x.width, T{0});
    for (std::int64_t c = 0; c < x.columns; ++c) {
      const T* a = turned + c * x.width;
      const T* b = turned_grad + c * x.width;
      for (std::int64_t i = 0; i < x.width; ++i) sum[i] += a[i] * b[i];
    }
    for (std::int64_t i = 0; i < x.width; ++i) sum[i] *= whole[i];
    for (std::int64_t t = x.count - 1; t >= 0; --t) {
      for (std::int64_t i = 0; i < x.width; ++i) {
        sum[i] += used[t * x.width + i];
        decay[t * x.width + i] = sum[i];
      }
    }
    std::fill(sum, sum + x.width, T{0});
    for (std::int64_t t = 0; t < x.count; ++t) {
      for (std::int64_t i = 0; i < x.width; ++i) {
        decay[t * x.width + i] += sum[i];
        sum[i] += product_row[t * x.width + i];
      }
    }
  }

  void pair_products() {
    rows_to_panel(Rows<T>{x.write, x.columns}, x.count, x.columns, x.pitch, x.panel);
    const auto fill = [&](const T* rows, T* pairs) HWY_ATTR {
      const hn::ScalableTag<T> d;
      product(x.count, Broadcast<T>{rows, x.columns, 1}, x.panel, x.pitch, x.columns, x.pitch,
              [&](std::int64_t t, std::int64_t s, auto sum)
                  HWY_ATTR { hn::Store(sum, d, pairs + t * x.pitch + s); });
    };
    for (std::int64_t h = 0; h < x.group; ++h) fill(out_of(h), score_of(h));
    if (x.delta) fill(read, overlap);
  }

  void pairs_by_products() {
    if (x.decays) decays_between();
    for (std::int64_t h = 0; h < x.group; ++h) {
      T* pairs = score_of(h);
      if (x.decays) fade_pairs(pairs);
      for (std::int64_t t = 0; t < x.count; ++t) {
        add_rows(pairs + t * x.pitch, 1, x.key, x.width, t + 1, x.width, query_of(h) + t * x.width);
        add_rows(pairs + t * x.pitch + t, x.pitch, x.query_of(h) + t * x.width, x.width,
                 x.count - t, x.width, key + t * x.width);
      }
    }
    if (!x.delta) return;
    if (x.decays) fade_pairs(overlap);
    for (std::int64_t t = 0; t < x.count; ++t) {
      add_rows(overlap + t * x.pitch, 1, x.key, x.width, t, x.width, key + t * x.width);
      add_rows(overlap + (t + 1) * x.pitch + t, x.pitch, x.key + (t + 1) * x.width, x.width,
               x.count - t - 1, x.width, key + t * x.width);
    }
  }

  void fade_pairs(T* pairs) const {
    for (std::int64_t i = 0; i < x.count * x.pitch; ++i) pairs[i] *= x.fade[i];
  }

  // One number a step: step r fades every pair s < r <= t. Sums over s first, as prefixes of rows.
  void decays_between() {
    for (std::int64_t t = 1; t < x.count; ++t) {
      T prefix = 0;
      for (std::int64_t s = 0; s < t; ++s) {
        const std::int64_t at = t * x.pitch + s;
        for (std::int64_t h = 0; h < x.group; ++h) prefix += score_of(h)[at] * x.score_of(h)[at];
        if (x.delta) prefix += overlap[at] * x.overlap[at];
        decay[(s + 1) * x.width] += prefix;  // any column: they are summed in the end
      }
    }
  }

  // A decay for each row of the state, a vector of rows at a time. For the pairs of one s: faded is
  // E_ts k_s, grad its gradient from step t on.
  void pairs_by_elements() {
    const hn::ScalableTag<T> d;
    using V = hn::Vec<decltype(d)>;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t w = x.width;
    for (std::int64_t c = 0; c < w; c += lanes) {
      for (std::int64_t s = 0; s < x.count; ++s) {
        V faded = hn::Load(d, x.key + s * w + c);
        hn::Store(faded, d, running);
        for (std::int64_t t = s + 1; t < x.count; ++t) {
          faded = hn::Mul(faded, hn::Load(d, x.step + t * w + c));
          hn::Store(faded, d, running + (t - s) * lanes);
        }
        V grad = hn::Zero(d);
        for (std::int64_t t = x.count - 1; t >= s; --t) {
          const std::int64_t at = t * w + c;
          faded = hn::Load(d, running + (t - s) * lanes);
          for (std::int64_t h = 0; h < x.group; ++h) {
            const V weight = hn::Set(d, score_of(h)[t * x.pitch + s]);
            grad = hn::MulAdd(weight, hn::Load(d, x.query_of(h) + at), grad);
            T* to = query_of(h) + at;
            hn::Store(hn::MulAdd(weight, faded, hn::Load(d, to)), d, to);
          }
          if (t == s) break;
          if (x.delta) {
            const V weight = hn::Set(d, overlap[t * x.pitch + s]);
            grad = hn::MulAdd(weight, hn::Load(d, x.key + at), grad);
            hn::Store(hn::MulAdd(weight, faded, hn::Load(d, key + at)), d, key + at);
          }
          hn::Store(hn::MulAdd(grad, faded, hn::Load(d, decay + at)), d, decay + at);
          grad = hn::Mul(grad, hn::Load(d, x.step + at));
        }
        T* to = key + s * w + c;
        hn::Store(hn::Add(grad, hn::Load(d, to)), d, to);
      }
    }
  }

  void to_state(const LinearProblem& p, T* grad_state) {
    const hn::ScalableTag<T> d;
    const T* whole = x.from + (x.count - 1) * x.width;
    for (std::int64_t i = 0; i < p.width && x.decays; ++i) {
      for (std::int64_t c = 0; c < x.columns; ++c) grad_state[i * x.columns + c] *= whole[i];
    }
    const auto add = [&](const T* operand, const T* rows) HWY_ATTR {
      product(p.width, Broadcast<T>{operand, 1, x.width}, rows, x.columns, x.count, x.columns,
              [&](std::int64_t i, std::int64_t c, auto sum) HWY_ATTR {
                T* at = grad_state + i * x.columns + c;
                hn::Store(hn::Add(hn::Load(d, at), sum), d, at);
              });
    };
    for (std::int64_t h = 0; h < x.group; ++h) add(x.from_query_of(h), out_of(h));
    if (x.delta) add(x.from_key, read);
  }
};

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
