// Writing the gradients of a chunk of keys, compiled per target.
#if defined(HEED_KERNELS_KEY_GRADIENTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_KEY_GRADIENTS_INL
#undef HEED_KERNELS_KEY_GRADIENTS_INL
#else
#define HEED_KERNELS_KEY_GRADIENTS_INL
#endif

#include "kernels/backward_call.hpp"
#include "kernels/pack-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

/// Rows of `sums`, `pitch` apart, times `scale`; the last chunk also zeros what lies behind the
/// entry's length.
template <class T>
void write_key_gradients(const AttentionProblem& p, const Entry& e, const KeyChunk& chunk,
                         const Output& output, T* sums, std::int64_t pitch, std::int64_t width,
                         T scale) {
  if (output.data == nullptr) return;
  const std::int64_t all = e.ragged_keys ? p.key_offsets[e.index + 1] - e.first_key : p.keys;
  for (std::int64_t r = 0; r < chunk.count; ++r) {
    for (std::int64_t c = 0; c < width; ++c) sums[r * pitch + c] *= scale;
    store_row(sums + r * pitch, width, output, p.type,
              key_element(output.stride, e, chunk.kv_head, chunk.key + r));
  }
  if (!chunk.last) return;
  std::fill(sums, sums + width, T{0});  // padding behind the entry's length
  for (std::int64_t key = chunk.key + chunk.count; key < all; ++key) {
    store_row(sums, width, output, p.type, key_element(output.stride, e, chunk.kv_head, key));
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
