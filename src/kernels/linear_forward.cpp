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
void linear_worker(const LinearCall& call) {
  const LinearProblem& p = call.problem;
  const Output& out = call.result.out;
  const hn::ScalableTag<T> d;
  LinearChunk<T> x(p);
  T* state = x.memory.take(p.width * x.columns);
  T* write = x.memory.take(x.limit * x.columns);
  T* rows = x.memory.take(x.limit * x.columns);

  std::int64_t item;
  while (call.queue.next(item)) {
    const LinearUnit unit = unit_of(p, item);
    load_state(p, p.state, unit, state, x.columns);
    for (std::int64_t first = 0; first < p.length; first += x.limit) {
      x.load(p, unit, first, std::min(x.limit, p.length - first));
      x.load_values(p, unit, first);
      x.solve(p, state, write);
      for (std::int64_t h = 0; h < x.group && out.data != nullptr; ++h) {
        product(x.count, Broadcast<T>{x.from_query_of(h), x.width, 1}, state, x.columns, p.width,
                x.columns, [&](std::int64_t t, std::int64_t c, auto sum) HWY_ATTR {
                  hn::Store(sum, d, rows + t * x.columns + c);
                });
        for (std::int64_t t = 0; t < x.count; ++t) {
          T* row = rows + t * x.columns;
          add_rows(x.score_of(h) + t * x.pitch, 1, write, x.columns, t + 1, x.columns, row);
          store_row(row, unit.columns, out, p.type,
                    row_element(out.stride, unit.entry, unit.kv_head * x.group + h, first + t) +
                        unit.column * out.stride[3]);
        }
      }
      x.advance(p, write, state, state);
    }
    store_state(p, state, unit, call.result.state, x.columns);
  }
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
