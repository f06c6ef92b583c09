#pragma once
#include "heed/attention/tensor.hpp"

namespace heed {

/// a [N, M, K] · b [N, K, P] by `kernels::matrix_product`, with gradients: the same bits for a row
/// whatever the threads and the other rows. torch's product where the kernel has no such type or
/// device.
Tensor matrix_product(const Tensor& a, const Tensor& b);

}  // namespace heed
