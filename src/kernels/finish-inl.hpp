// The end of a row's softmax, compiled per target.
#if defined(HEED_KERNELS_FINISH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_FINISH_INL
#undef HEED_KERNELS_FINISH_INL
#else
#define HEED_KERNELS_FINISH_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/scores-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

/// The running softmax of a row when all its keys are in.
template <class T>
struct RowEnd {
  T top, sum;
  bool empty;  // no key took part
};

/// Takes the sink in, writes log-sum-exp and state, and returns what the context is multiplied by.
template <class T>
T finish_row(const ScoreSetup<T>& setup, std::int64_t query, RowEnd<T> end,
             const ForwardResult& result) {
  const AttentionProblem& p = setup.p;
  T shrink = 1;
  if (p.sink != nullptr) {
    const T sink = static_cast<const T*>(p.sink)[setup.head];
    const T higher = std::max(end.top, sink);
    shrink = end.top == -std::numeric_limits<T>::infinity() ? T{0} : std::exp(end.top - higher);
    end.sum = end.sum * shrink + std::exp(sink - higher);
    end.top = higher;
  }
  const std::int64_t row = setup.e.query_row(p.heads, setup.head, query);
  if (result.lse != nullptr) {
    const T natural = setup.plain ? static_cast<T>(p.scale) * end.top : end.top;
    result.lse[row] = end.empty ? -std::numeric_limits<float>::infinity()
                                : static_cast<float>(natural + std::log(end.sum));
  }
  if (result.state != nullptr) {
    T* state = static_cast<T*>(result.state) + kRowState * row;
    state[0] = end.empty ? T{0} : end.top;
    state[1] = end.empty ? T{0} : T{1} / end.sum;
    state[2] = state[3] = T{0};
  }
  return end.empty ? T{0} : shrink / end.sum;
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
