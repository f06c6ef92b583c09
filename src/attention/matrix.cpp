#include "attention/matrix.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "attention/kernel_call.hpp"
#include "heed/base/error.hpp"
#include "heed/kernels/matrix.hpp"

namespace heed {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor run_product(const Tensor& a, const Tensor& b) {
  Tensor c = torch::empty({a.size(0), a.size(1), b.size(2)}, a.options());
  const auto strides = [](const Tensor& x) {
    return std::array{x.stride(0), x.stride(1), x.stride(2)};
  };
  kernels::matrix_product({.type = *kernel_type(a.scalar_type()),
                           .matrices = a.size(0),
                           .rows = a.size(1),
                           .columns = b.size(2),
                           .depth = a.size(2),
                           .a = a.const_data_ptr(),
                           .a_stride = strides(a),
                           .b = b.const_data_ptr(),
                           .b_stride = strides(b),
                           .c = c.mutable_data_ptr(),
                           .c_stride = strides(c)});
  return c;
}

class Product : public torch::autograd::Function<Product> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& a, const Tensor& b) {
    ctx->save_for_backward({a, b});
    return run_product(a, b);
  }
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    HEED_CHECK(!torch::GradMode::is_enabled(),
               "attend: this kernel has no second derivative; kernel='reference' has");
    const auto saved = ctx->get_saved_variables();
    const Tensor grad = gradients[0];
    Tensor a, b;
    if (ctx->needs_input_grad(0)) a = run_product(grad, saved[1].transpose(1, 2));
    if (ctx->needs_input_grad(1)) {
      // A row that nothing came back to, such as a masked key, counts for nothing, NaN or not. The
      // sum tells in one pass whether there may be one.
      Tensor rows = saved[0];
      const auto wide = rows.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
      if (!std::isfinite(rows.sum(wide).item<double>())) {
        rows = torch::where((grad != 0).any(-1, true), rows, 0.0);
      }
      b = run_product(rows.transpose(1, 2), grad);
    }
    return {a, b};
  }
};

}  // namespace

Tensor matrix_product(const Tensor& a, const Tensor& b) {
  const bool own = a.device().is_cpu() && b.device().is_cpu() && kernel_type(a.scalar_type()) &&
                   a.scalar_type() == b.scalar_type();
  return own ? Product::apply(a, b) : torch::matmul(a, b);
}

}  // namespace heed
