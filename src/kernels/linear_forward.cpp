// Linear attention forward: chunk by chunk, each unit of work a slice of one head's state.
#include <cmath>
#include <stdexcept>
#include <string>

#include "heed/kernels/linear.hpp"
#include "kernels/linear_call.hpp"
#include "kernels/simd_internal.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_forward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/linear_chunk-inl.hpp"

#ifndef HEED_KERNELS_LINEAR_FORWARD_ONCE
#define HEED_KERNELS_LINEAR_FORWARD_ONCE
namespace heed::kernels {

constexpr std::int64_t kFewSteps = 4;  // up to here step by step

struct LinearCall {
  const LinearProblem& problem;
  const LinearResult& result;
  WorkQueue& queue;
};

}  // namespace heed::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct ForwardState {
  explicit ForwardState(const LinearProblem& p)
      : x(p),
        state(x.memory.take(p.width * x.columns)),
        rows(x.memory.take(x.group * x.limit * x.columns)) {}

  LinearChunk<T> x;
  T* state;  // [D][columns]
  T* rows;   // [group][limit][columns], outputs
};

/// Outputs of the chunk that is loaded, and the state after it.
template <class T>
void forward_chunk(const LinearProblem& p, ForwardState<T>& f) {
  const hn::ScalableTag<T> d;
  LinearChunk<T>& x = f.x;
  x.solve(p, f.state);
  for (std::int64_t h = 0; h < x.group; ++h) {
    T* rows = f.rows + h * x.limit * x.columns;
    product(x.count, Broadcast<T>{x.from_query_of(h), x.width, 1}, f.state, x.columns, p.width,
            x.columns, [&](std::int64_t t, std::int64_t c, auto sum) HWY_ATTR {
              hn::Store(sum, d, rows + t * x.columns + c);
            });
    for (std::int64_t t = 0; t < x.count; ++t) {
      add_rows(x.score_of(h) + t * x.pitch, 1, x.write, x.columns, t + 1, x.columns,
               rows + t * x.columns);
    }
  }
  x.advance(p, f.state, f.state);
}

/// The same step by step, NV vectors of columns from `c` on: less to prepare, and for a few steps
/// the state is read no more often.
template <int NV, class T>
void forward_steps(const LinearProblem& p, ForwardState<T>& f, std::int64_t c) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const LinearChunk<T>& x = f.x;
  const std::int64_t step_row = x.wide_decay ? x.width : 1, step_column = x.wide_decay ? 1 : 0;
  for (std::int64_t t = 0; t < x.count; ++t) {
    const T* key = x.key + t * x.width;
    const T* step = x.step + t * step_row;
    V write[NV], sum[NV];
    for (int v = 0; v < NV; ++v) {
      write[v] = hn::Load(d, x.value + t * x.columns + c + v * lanes);
      sum[v] = hn::Zero(d);
    }
    if (x.decays || x.delta) {
      for (std::int64_t i = 0; i < p.width; ++i) {
        T* row = f.state + i * x.columns + c;
        const V factor = hn::Set(d, key[i]);
        for (int v = 0; v < NV; ++v) {
          V s = hn::Load(d, row + v * lanes);
          if (x.decays) {
            s = hn::Mul(s, hn::Set(d, step[i * step_column]));
            hn::Store(s, d, row + v * lanes);
          }
          if (x.delta) sum[v] = hn::MulAdd(factor, s, sum[v]);
        }
      }
    }
    for (int v = 0; v < NV; ++v) {
      if (x.delta) write[v] = hn::Mul(hn::Set(d, x.beta[t]), hn::Sub(write[v], sum[v]));
    }
    for (std::int64_t h = 0; h < x.group; ++h) {
      const T* query = x.query_of(h) + t * x.width;
      for (int v = 0; v < NV; ++v) sum[v] = hn::Zero(d);
      for (std::int64_t i = 0; i < p.width; ++i) {
        T* row = f.state + i * x.columns + c;
        const V factor = hn::Set(d, key[i]), weight = hn::Set(d, query[i]);
        for (int v = 0; v < NV; ++v) {
          V s = hn::Load(d, row + v * lanes);
          if (h == 0) {
            s = hn::MulAdd(factor, write[v], s);
            hn::Store(s, d, row + v * lanes);
          }
          sum[v] = hn::MulAdd(weight, s, sum[v]);
        }
      }
      T* out = f.rows + (h * x.limit + t) * x.columns + c;
      for (int v = 0; v < NV; ++v) hn::Store(sum[v], d, out + v * lanes);
    }
  }
}

template <class T>
void forward_unit(const LinearCall& call, const LinearUnit& unit, ForwardState<T>& f) {
  const LinearProblem& p = call.problem;
  LinearChunk<T>& x = f.x;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const bool few = p.length <= kFewSteps && x.group > 0;
  load_state(p, p.state, unit, f.state, x.columns);
  for (std::int64_t first = 0; first < p.length; first += x.limit) {
    x.load(p, unit, first, std::min(x.limit, p.length - first), few ? Pairs::none : Pairs::all);
    x.load_values(p, unit, first);
    if (few) {
      std::int64_t c = 0;
      for (; c + 4 * lanes <= x.columns; c += 4 * lanes) forward_steps<4>(p, f, c);
      for (; c < x.columns; c += lanes) forward_steps<1>(p, f, c);
    } else {
      forward_chunk(p, f);
    }
    const Output& out = call.result.out;
    for (std::int64_t h = 0; h < x.group && out.data != nullptr; ++h) {
      for (std::int64_t t = 0; t < x.count; ++t) {
        store_row(f.rows + (h * x.limit + t) * x.columns, unit.columns, out, p.type,
                  row_element(out.stride, unit.entry, unit.kv_head * x.group + h, first + t) +
                      unit.column * out.stride[3]);
      }
    }
  }
  store_state(p, f.state, unit, call.result.state, x.columns);
}

template <class T>
void linear_worker(const LinearCall& call) {
  ForwardState<T> f(call.problem);
  std::int64_t item;
  while (call.queue.next(item)) forward_unit(call, unit_of(call.problem, item), f);
}

void linear_forward_impl(const LinearCall& call) {
  if (call.problem.type == Type::float64) {
    linear_worker<double>(call);
  } else {
    linear_worker<float>(call);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(linear_forward_impl);

void check_linear(const LinearProblem& p) {
  const auto fail = [](const std::string& what) {
    throw std::invalid_argument("linear attention: " + what);
  };
  for (const auto& [name, size] : {std::pair{"batch", p.batch},
                                   {"heads", p.heads},
                                   {"kv_heads", p.kv_heads},
                                   {"length", p.length},
                                   {"width", p.width},
                                   {"value_width", p.value_width}}) {
    if (size < 0) fail(std::string(name) + " is " + std::to_string(size) + ", below 0");
  }
  if (p.kv_heads == 0 ? p.heads > 0 : p.heads % p.kv_heads != 0) {
    fail(std::to_string(p.heads) + " heads are not a multiple of " + std::to_string(p.kv_heads) +
         " key/value heads");
  }
  if (!std::isfinite(p.scale)) fail("scale is " + std::to_string(p.scale) + "; it must be finite");
  const auto check_use = [&](const char* name, bool used, const Input& x, std::int64_t size) {
    if (used && size > 0 && x.data == nullptr) fail("the rule needs a " + std::string(name));
    if (!used && x.data != nullptr) fail("the rule takes no " + std::string(name));
  };
  const std::int64_t steps = p.batch * p.kv_heads * p.length;
  check_use("decay", has_decay(p.rule), p.decay, steps * p.decay_width);
  check_use("beta", has_beta(p.rule), p.beta, steps);
  if (has_decay(p.rule) && p.decay_width != 1 && p.decay_width != p.width) {
    fail("decay_width is " + std::to_string(p.decay_width) + "; it must be 1 or the width, " +
         std::to_string(p.width));
  }
}

void linear_forward(const LinearProblem& problem, const LinearResult& result) {
  check_linear(problem);
  apply_simd_environment();
  if (problem.kv_heads == 0) return;
  const std::int64_t items = unit_count(problem);
  WorkQueue queue(items);
  const LinearCall call{problem, result, queue};
  run_workers(items, linear_work(problem), [&] {
    HWY_DYNAMIC_DISPATCH(linear_forward_impl)(call);
  });
}

}  // namespace heed::kernels
#endif
