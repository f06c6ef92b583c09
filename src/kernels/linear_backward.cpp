// Linear attention backward. A unit of work first runs its slice of the state forward, keeping it
// at the start of each chunk and what each step had to correct; then goes through the chunks from
// the last to the first. Gradients to queries, keys, decays and betas are sums over slices: each
// slice writes its own, and a second pass adds them in the order of the slices.
#include <vector>

#include "heed/kernels/linear.hpp"
#include "kernels/linear_call.hpp"
#include "kernels/simd_internal.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/linear_gradient-inl.hpp"

#ifndef HEED_KERNELS_LINEAR_BACKWARD_ONCE
#define HEED_KERNELS_LINEAR_BACKWARD_ONCE
namespace heed::kernels {

/// Gradients of each slice, [slices, B, heads, L, width] contiguous, working type; null when one
/// slice is all.
struct LinearPartials {
  void* query;
  void* key;
  void* decay;
  void* beta;
};

struct LinearBackwardCall {
  const LinearProblem& problem;
  const LinearOutputGradients& given;
  const LinearGradients& result;
  LinearPartials partials;
  WorkQueue& queue;
};

}  // namespace heed::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
class LinearBackward {
 public:
  explicit LinearBackward(const LinearBackwardCall& of)
      : call(of),
        p(of.problem),
        x(p),
        grads(x),
        chunks((p.length + x.limit - 1) / x.limit),
        states(x.memory.take((chunks + 1) * p.width * x.columns)),
        errors(x.memory.take(x.delta ? p.length * x.columns : 0)) {}

  void run(const LinearUnit& unit) {
    load_state(p, p.state, unit, states, x.columns);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      load(unit, chunk, Pairs::overlaps);
      x.load_values(p, unit, chunk * x.limit);
      x.solve(p, state_before(chunk));
      if (x.delta) std::copy(x.value, x.value + x.count * x.columns, error_rows(chunk));
      x.advance(p, state_before(chunk), state_before(chunk + 1));
    }
    T* grad_state = state_before(chunks);  // the last state itself is not needed
    load_state(p, call.given.state, unit, grad_state, x.columns);
    for (std::int64_t chunk = chunks - 1; chunk >= 0; --chunk) {
      load(unit, chunk, Pairs::all);
      load_writes(unit, chunk);
      load_gradients(unit, chunk * x.limit);
      grads.run(p, state_before(chunk), grad_state);
      store(unit, chunk * x.limit);
    }
    store_state(p, grad_state, unit, call.result.state, x.columns);
  }

 private:
  T* state_before(std::int64_t chunk) const { return states + chunk * p.width * x.columns; }
  T* error_rows(std::int64_t chunk) const { return errors + chunk * x.limit * x.columns; }

  void load(const LinearUnit& unit, std::int64_t chunk, Pairs pairs) {
    const std::int64_t first = chunk * x.limit;
    x.load(p, unit, first, std::min(x.limit, p.length - first), pairs);
  }

  // As `solve` left them.
  void load_writes(const LinearUnit& unit, std::int64_t chunk) {
    if (!x.delta) return x.load_values(p, unit, chunk * x.limit);
    const T* error = error_rows(chunk);
    for (std::int64_t t = 0; t < x.count; ++t) {
      for (std::int64_t i = t * x.columns; i < (t + 1) * x.columns; ++i) {
        x.value[i] = error[i];
        x.write[i] = x.beta[t] * error[i];
      }
    }
  }

  void load_gradients(const LinearUnit& unit, std::int64_t first) {
    const Input& out = call.given.out;
    for (std::int64_t h = 0; h < x.group; ++h) {
      if (out.data == nullptr) {
        std::fill(grads.out_of(h), grads.out_of(h) + x.count * x.columns, T{0});
        continue;
      }
      copy_rows(out.data, p.type,
                row_element(out.stride, unit.entry, unit.kv_head * x.group + h, first) +
                    unit.column * out.stride[3],
                out.stride[2], out.stride[3], x.count, unit.columns, grads.out_of(h), x.columns);
    }
  }

  /// Rows of a gradient that is a sum over slices: where they belong if there is one slice, else to
  /// this slice's part of it.
  void store_part(const T* rows, std::int64_t pitch, std::int64_t of, const Output& to, Type type,
                  void* partial, const LinearUnit& unit, std::int64_t heads, std::int64_t head,
                  std::int64_t first) const {
    if (to.data == nullptr) return;
    for (std::int64_t t = 0; t < x.count; ++t) {
      const T* row = rows + t * pitch;
      if (slice_count(p) == 1) {
        store_row(row, of, to, type, row_element(to.stride, unit.entry, head, first + t));
      } else {
        const std::int64_t at =
            ((unit.slice * p.batch + unit.entry) * heads + head) * p.length + first + t;
        std::copy(row, row + of, static_cast<T*>(partial) + at * of);
      }
    }
  }

  void store(const LinearUnit& unit, std::int64_t first) {
    const LinearGradients& to = call.result;
    const LinearPartials& partials = call.partials;
    const Type working = sizeof(T) == 8 ? Type::float64 : Type::float32;
    for (std::int64_t t = 0; t < x.count && to.value.data != nullptr; ++t) {
      store_row(grads.write + t * x.columns, unit.columns, to.value, p.type,
                row_element(to.value.stride, unit.entry, unit.kv_head, first + t) +
                    unit.column * to.value.stride[3]);
    }
    const T scale = static_cast<T>(p.scale);
    for (std::int64_t h = 0; h < x.group; ++h) {
      T* rows = grads.query_of(h);
      for (std::int64_t i = 0; i < x.count * x.width; ++i) rows[i] *= scale;
      store_part(rows, x.width, p.width, to.query, p.type, partials.query, unit, p.heads,
                 unit.kv_head * x.group + h, first);
    }
    store_part(grads.key, x.width, p.width, to.key, p.type, partials.key, unit, p.kv_heads,
               unit.kv_head, first);
    store_part(grads.beta, 1, 1, to.beta, working, partials.beta, unit, p.kv_heads, unit.kv_head,
               first);
    if (!x.wide_decay && to.decay.data != nullptr) {  // one number a step: over all rows
      for (std::int64_t t = 0; t < x.count; ++t) {
        T* row = grads.decay + t * x.width;
        T sum = 0;
        for (std::int64_t i = 0; i < p.width; ++i) sum += row[i];
        row[0] = sum;
      }
    }
    store_part(grads.decay, x.width, p.decay_width, to.decay, working, partials.decay, unit,
               p.kv_heads, unit.kv_head, first);
  }

  const LinearBackwardCall& call;
  const LinearProblem& p;
  LinearChunk<T> x;
  LinearChunkGradients<T> grads;
  const std::int64_t chunks;
  T* states;  // [chunks + 1][D][columns], before each chunk
  T* errors;  // [L][columns]: what `solve` left in value; delta rules
};

template <class T>
void linear_backward_worker(const LinearBackwardCall& call) {
  LinearBackward<T> backward(call);
  std::int64_t item;
  while (call.queue.next(item)) backward.run(unit_of(call.problem, item));
}

void linear_backward_impl(const LinearBackwardCall& call) {
  if (call.problem.type == Type::float64) {
    linear_backward_worker<double>(call);
  } else {
    linear_backward_worker<float>(call);
  }
}

/// Adds the slices of one (entry, head) and stores the sum.
template <class T>
void sum_slices(const LinearProblem& p, const void* partial, std::int64_t heads, std::int64_t width,
                std::int64_t item, const Output& to, Type type) {
  if (to.data == nullptr) return;
  Scratch<T> memory;
  T* sum = memory.take(width);
  for (std::int64_t t = 0; t < p.length; ++t) {
    std::fill(sum, sum + width, T{0});
    for (std::int64_t slice = 0; slice < slice_count(p); ++slice) {
      const std::int64_t row = (slice * p.batch * heads + item) * p.length + t;
      const T* from = static_cast<const T*>(partial) + row * width;
      for (std::int64_t i = 0; i < width; ++i) sum[i] += from[i];
    }
    store_row(sum, width, to, type, row_element(to.stride, item / heads, item % heads, t));
  }
}

template <class T>
void linear_sums_worker(const LinearBackwardCall& call) {
  const LinearProblem& p = call.problem;
  const Type working = sizeof(T) == 8 ? Type::float64 : Type::float32;
  std::int64_t item;
  while (call.queue.next(item)) {
    if (item < p.batch * p.heads) {
      sum_slices<T>(p, call.partials.query, p.heads, p.width, item, call.result.query, p.type);
      continue;
    }
    item -= p.batch * p.heads;
    sum_slices<T>(p, call.partials.key, p.kv_heads, p.width, item, call.result.key, p.type);
    sum_slices<T>(p, call.partials.decay, p.kv_heads, p.decay_width, item, call.result.decay,
                  working);
    sum_slices<T>(p, call.partials.beta, p.kv_heads, 1, item, call.result.beta, working);
  }
}

void linear_sums_impl(const LinearBackwardCall& call) {
  if (call.problem.type == Type::float64) {
    linear_sums_worker<double>(call);
  } else {
    linear_sums_worker<float>(call);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(linear_backward_impl);
HWY_EXPORT(linear_sums_impl);

void linear_backward(const LinearProblem& problem, const LinearOutputGradients& given,
                     const LinearGradients& result) {
  check_linear(problem);
  apply_simd_environment();
  const LinearProblem& p = problem;
  if (p.kv_heads == 0) return;
  Scratch<std::uint8_t> memory;
  LinearPartials partials{};
  const bool one_slice = slice_count(p) == 1;
  if (!one_slice) {
    const std::int64_t bytes = p.type == Type::float64 ? 8 : 4;
    const std::int64_t rows = slice_count(p) * p.batch * p.length * bytes;
    const auto take = [&](const Output& wanted, std::int64_t heads, std::int64_t width) -> void* {
      return wanted.data == nullptr ? nullptr : memory.take(rows * heads * width);
    };
    partials = {take(result.query, p.heads, p.width), take(result.key, p.kv_heads, p.width),
                take(result.decay, p.kv_heads, p.decay_width), take(result.beta, p.kv_heads, 1)};
  }
  const double work = 3 * linear_work(p);
  const auto run = [&](std::int64_t items, auto dispatch) {
    WorkQueue queue(items);
    const LinearBackwardCall call{problem, given, result, partials, queue};
    run_workers(items, work, [&] { dispatch(call); });
  };
  run(unit_count(p), [](const auto& call) { HWY_DYNAMIC_DISPATCH(linear_backward_impl)(call); });
  if (!one_slice) {
    run(p.batch * (p.heads + p.kv_heads), [](const auto& call) {
      HWY_DYNAMIC_DISPATCH(linear_sums_impl)(call);
    });
  }
}

}  // namespace heed::kernels
#endif
