#pragma once

namespace heed::kernels {

/// Billions of float32 operations a second that one thread's multiply-adds reach, a multiply-add
/// counting two: what the kernels' shares are measured against.
double multiply_add_peak();

/// Billions of bytes a second that one thread reads from memory beyond the caches.
double read_peak();

}  // namespace heed::kernels
