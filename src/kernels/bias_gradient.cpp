// The gradient of the additive bias, for any broadcast of it. A unit of work owns a block of the
// result and goes over all that was broadcast into it in one fixed order, so the bits do not depend
// on the threads and no L x S temporary is needed.
#include <algorithm>
#include <vector>

#include "kernels/backward_call.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bias_gradient.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/gradient-inl.hpp"

#ifndef HEED_KERNELS_BIAS_GRADIENT_ONCE
#define HEED_KERNELS_BIAS_GRADIENT_ONCE
namespace heed::kernels {

constexpr std::int64_t kBiasKeys = 96;

/// Half-open ranges that one block of the result sums over or spans.
struct BiasBlock {
  std::int64_t batch, batch_end, head, head_end, query, query_end, key, key_end;
};

struct BiasCall {
  const AttentionProblem& problem;
  const BackwardInputs& inputs;
  const Output& result;
  const std::vector<Entry>& entries;
  const std::vector<BiasBlock>& blocks;
  WorkQueue& queue;
};

}  // namespace heed::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
static_assert(kBiasKeys <= kKeyBlock);

/// Adds the gradients of one tile to `sums` ([kBiasKeys][kQueryBlock], an axis of stride 0 at 0).
template <class T>
void add_bias_tile(const BiasCall& call, const ScoreSetup<T>& setup, std::int64_t query,
                   std::int64_t key, std::int64_t count, GradientBlock<T>& block, T* key_rows,
                   T* value_rows, T* sums) {
  const AttentionProblem& p = setup.p;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const std::int64_t kv_head = setup.head / (p.heads / p.kv_heads);
  const Rows<T> keys = view_rows(p.key, p.type, key_element(p.key.stride, setup.e, kv_head, key),
                                 count, p.width, key_rows, p.width);
  const Rows<T> values =
      view_rows(p.value, p.type, key_element(p.value.stride, setup.e, kv_head, key), count,
                p.value_width, value_rows, p.value_width);
  for (std::int64_t i = 0; i < block.panel_count; ++i) {
    const Panel panel = block.panels[i];
    with_vectors(panel.lanes / lanes, [&](auto vectors) HWY_ATTR {
      gradient_tile<vectors.value>(setup, panel, panel.query - query, keys, values, key, count,
                                   block);
    });
  }
  const bool one_row = call.result.stride[2] == 0, one_column = call.result.stride[3] == 0;
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t q = 0; q < block.count; ++q) {
      sums[(one_column ? 0 : r) * kQueryBlock + (one_row ? 0 : q)] +=
          block.slopes[r * kQueryBlock + q];
    }
  }
}

template <class T>
void bias_worker(const BiasCall& call) {
  const AttentionProblem& p = call.problem;
  const auto& stride = call.result.stride;
  Scratch<T> memory;
  GradientBlock<T> block(p);
  block.tile.slope = nullptr;  // the bias comes after scale, softcap and activation
  T* sums = memory.take(kBiasKeys * kQueryBlock);
  T* key_rows = memory.take(kBiasKeys * p.width);
  T* value_rows = memory.take(kBiasKeys * p.value_width);
  std::int64_t item;
  while (call.queue.next(item)) {
    const BiasBlock& b = call.blocks[static_cast<std::size_t>(item)];
    std::fill(sums, sums + kBiasKeys * kQueryBlock, T{0});
    for (std::int64_t entry = b.batch; entry < b.batch_end; ++entry) {
      const Entry& e = call.entries[static_cast<std::size_t>(entry)];
      for (std::int64_t head = b.head; head < b.head_end; ++head) {
        const ScoreSetup<T> setup(p, e, head);
        for (std::int64_t q = b.query; q < std::min(b.query_end, e.queries); q += kQueryBlock) {
          block.load(setup, q, std::min(kQueryBlock, e.queries - q), call.inputs);
          for (std::int64_t k = b.key; k < std::min(b.key_end, e.keys); k += kBiasKeys) {
            add_bias_tile(call, setup, q, k, std::min(kBiasKeys, e.keys - k), block, key_rows,
                          value_rows, sums);
          }
        }
      }
    }
    T* to = static_cast<T*>(call.result.data) + b.batch * stride[0] + b.head * stride[1];
    const std::int64_t rows = stride[2] == 0 ? 1 : b.query_end - b.query;
    const std::int64_t columns = stride[3] == 0 ? 1 : b.key_end - b.key;
    for (std::int64_t q = 0; q < rows; ++q) {
      for (std::int64_t k = 0; k < columns; ++k) {
        to[(b.query + q) * stride[2] + (b.key + k) * stride[3]] = sums[k * kQueryBlock + q];
      }
    }
  }
}

void bias_impl(const BiasCall& call) {
  if (call.problem.type == Type::float64) {
    bias_worker<double>(call);
  } else {
    bias_worker<float>(call);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
HWY_EXPORT(bias_impl);

void bias_gradient(const AttentionProblem& p, const BackwardInputs& inputs, const Output& result,
                   const std::vector<Entry>& entries) {
  // An axis of stride 0 is one step of its whole length, the others go block by block.
  const auto step = [&](std::size_t axis, std::int64_t size, std::int64_t block) {
    return result.stride[axis] == 0 ? std::max<std::int64_t>(size, 1) : block;
  };
  const auto length = [&](std::size_t axis, std::int64_t size) {
    return result.stride[axis] == 0 ? std::max<std::int64_t>(size, 1) : size;
  };
  const std::int64_t batch_step = step(0, p.batch, 1), head_step = step(1, p.heads, 1);
  const std::int64_t query_step = step(2, p.queries, kQueryBlock);
  const std::int64_t key_step = step(3, p.keys, kBiasKeys);
  std::vector<BiasBlock> blocks;
  for (std::int64_t b = 0; b < length(0, p.batch); b += batch_step) {
    for (std::int64_t h = 0; h < length(1, p.heads); h += head_step) {
      for (std::int64_t q = 0; q < length(2, p.queries); q += query_step) {
        for (std::int64_t k = 0; k < length(3, p.keys); k += key_step) {
          blocks.push_back(
              {b, std::min(b + batch_step, p.batch), h, std::min(h + head_step, p.heads), q,
               std::min(q + query_step, p.queries), k, std::min(k + key_step, p.keys)});
        }
      }
    }
  }
  WorkQueue queue(static_cast<std::int64_t>(blocks.size()));
  const BiasCall call{p, inputs, result, entries, blocks, queue};
  run_workers(queue.count(), product_work(p, entries), [&] {
    HWY_DYNAMIC_DISPATCH(bias_impl)(call);
  });
}

}  // namespace heed::kernels
#endif
