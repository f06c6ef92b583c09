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

/// The sink's weight is e^(sink - max) / sum, its value 0: d loss / d sink = -weight * (dout ·
/// out).
template <class T>
void sum_rows(const AttentionProblem& p, const BackwardInputs& inputs, T* result,
              const std::vector<Entry>& entries) {
  for (std::int64_t head = 0; head < p.heads; ++head) {
    double sum = 0;
    for (const Entry& e : entries) {
      for (std::int64_t i = 0; i < e.queries; ++i) {
        const T* state = static_cast<const T*>(inputs.state) + 2 * e.query_row(p.heads, head, i);
        if (state[1] == T{0}) continue;  // nothing to attend to
        const std::int64_t out = query_element(inputs.out.stride, e, head, i);
        const std::int64_t grad = query_element(inputs.grad_out.stride, e, head, i);
        double mean = 0;
        for (std::int64_t c = 0; c < p.value_width; ++c) {
          mean += element_at(inputs.out.data, p.type, out + c * inputs.out.stride[3]) *
                  element_at(inputs.grad_out.data, p.type, grad + c * inputs.grad_out.stride[3]);
        }
        const double sink = static_cast<const T*>(p.sink)[head];
        sum -=
            std::exp(sink - static_cast<double>(state[0])) * static_cast<double>(state[1]) * mean;
      }
    }
    result[head] = static_cast<T>(sum);
  }
}

}  // namespace

void sink_gradient(const AttentionProblem& p, const BackwardInputs& inputs, void* result,
                   const std::vector<Entry>& entries) {
  if (p.type == Type::float64) {
    sum_rows(p, inputs, static_cast<double*>(result), entries);
  } else {
    sum_rows(p, inputs, static_cast<float*>(result), entries);
  }
}

}  // namespace heed::kernels
