// Gradients that are one number a row: the sink, alpha, the centers. In double and in order, so the
// bits do not depend on the threads.
#include <cmath>

#include "kernels/backward_call.hpp"
#include "kernels/convert.hpp"

namespace heed::kernels {
namespace {

double element_at(const void* data, Type type, std::int64_t i) {
  switch (type) {
    case Type::float32:
      return static_cast<const float*>(data)[i];
    case Type::float64:
      return static_cast<const double*>(data)[i];
    case Type::bfloat16:
      return widen(static_cast<const BFloat16*>(data)[i]);
    case Type::float16:
      return widen(static_cast<const Float16*>(data)[i]);
  }
  return 0;
}

/// One row of one head, and products with its output gradient.
struct Row {
  const AttentionProblem& p;
  const BackwardInputs& inputs;
  const Entry& e;
  std::int64_t head, query;

  double dot(const Input& x, Type type) const {
    const Input& grads = inputs.grad_out;
    const std::int64_t at = query_element(x.stride, e, head, query);
    const std::int64_t grad = query_element(grads.stride, e, head, query);
    double sum = 0;
    for (std::int64_t c = 0; c < p.value_width; ++c) {
      sum += element_at(x.data, type, at + c * x.stride[3]) *
             element_at(grads.data, p.type, grad + c * grads.stride[3]);
    }
    return sum;
  }
  std::int64_t index() const { return e.query_row(p.heads, head, query); }
};

/// f(row, state) of every row that attends to something, summed for each head.
template <class T, class F>
void sum_rows(const AttentionProblem& p, const BackwardInputs& inputs,
              const std::vector<Entry>& entries, T* result, const F& f) {
  for (std::int64_t head = 0; head < p.heads; ++head) {
    double sum = 0;
    for (const Entry& e : entries) {
      for (std::int64_t i = 0; i < e.queries; ++i) {
        const Row row{p, inputs, e, head, i};
        const T* state = static_cast<const T*>(inputs.state) + kRowState * row.index();
        if (state[1] != T{0}) sum += f(row, state);
      }
    }
    result[head] = static_cast<T>(sum);
  }
}

template <class T>
void run(const AttentionProblem& p, const BackwardInputs& inputs, const BackwardResult& result,
         const std::vector<Entry>& entries) {
  const Type working = sizeof(T) == 8 ? Type::float64 : Type::float32;
  if (result.sink != nullptr) {
    // The sink's weight is e^(sink - max) / sum, its value 0.
    sum_rows<T>(p, inputs, entries, static_cast<T*>(result.sink), [&](const Row& row, const T* s) {
      const double sink = static_cast<const T*>(p.sink)[row.head];
      const double weight = std::exp(sink - static_cast<double>(s[0])) * static_cast<double>(s[1]);
      const double lse = inputs.grad_lse == nullptr ? 0 : inputs.grad_lse[row.index()];
      return weight * (lse - row.dot(inputs.out, p.type));
    });
  }
  if (result.alpha != nullptr) {
    // Correia et al. 2019, proposition 1: with t = p / (alpha - 1)² - p ln p / (alpha - 1), whose
    // sum over the keys the row keeps and whose sum with the values is the drift.
    sum_rows<T>(p, inputs, entries, static_cast<T*>(result.alpha), [&](const Row& row, const T* s) {
      return row.dot(inputs.drift, working) -
             row.dot(inputs.mean, working) * static_cast<double>(s[3]);
    });
  }
  if (result.center != nullptr) {
    for (const Entry& e : entries) {
      for (std::int64_t head = 0; head < p.heads; ++head) {
        for (std::int64_t i = 0; i < e.queries; ++i) {
          const Row row{p, inputs, e, head, i};
          static_cast<T*>(result.center)[row.index()] =
              static_cast<T>(row.dot(inputs.drift, working));
        }
      }
    }
  }
}

}  // namespace

void row_gradients(const AttentionProblem& p, const BackwardInputs& inputs,
                   const BackwardResult& result, const std::vector<Entry>& entries) {
  if (p.type == Type::float64) {
    run<double>(p, inputs, result, entries);
  } else {
    run<float>(p, inputs, result, entries);
  }
}

}  // namespace heed::kernels
