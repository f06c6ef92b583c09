// A flat C face of the kernels for bench.py: contiguous [batch, heads, length, width] tensors.
#include <cstdint>

#include "heed/kernels/attention.hpp"

using namespace heed::kernels;

extern "C" {

struct BenchCase {
  std::int64_t type, batch, heads, kv_heads, queries, keys, width, value_width, causal;
  double dropout;
  const void *query, *key, *value, *mask;
  const std::int64_t* lengths;
  void *out, *state;
  const void* grad_out;
  void *grad_query, *grad_key, *grad_value;
  float *entropy, *received;
};

static std::array<std::int64_t, 4> contiguous(std::int64_t heads, std::int64_t rows,
                                              std::int64_t width) {
  return {heads * rows * width, rows * width, width, 1};
}

static AttentionProblem problem_of(const BenchCase& c) {
  AttentionProblem p;
  p.type = static_cast<Type>(c.type);
  p.batch = c.batch, p.heads = c.heads, p.kv_heads = c.kv_heads;
  p.queries = c.queries, p.keys = c.keys, p.width = c.width, p.value_width = c.value_width;
  p.query = {c.query, contiguous(c.heads, c.queries, c.width)};
  p.key = {c.key, contiguous(c.kv_heads, c.keys, c.width)};
  p.value = {c.value, contiguous(c.kv_heads, c.keys, c.value_width)};
  p.scale = 1 / __builtin_sqrt(static_cast<double>(c.width));
  p.causal = c.causal != 0 ? Causal::offset : Causal::none;
  p.lengths = c.lengths;
  p.dropout = c.dropout;
  if (c.mask != nullptr) p.mask = {c.mask, {0, 0, c.keys, 1}};
  return p;
}

void heed_bench_forward(const BenchCase* c) {
  attention_forward(
      problem_of(*c),
      {.out = {c->out, contiguous(c->heads, c->queries, c->value_width)}, .state = c->state});
}

void heed_bench_backward(const BenchCase* c) {
  const auto of_query = contiguous(c->heads, c->queries, c->width);
  const auto of_out = contiguous(c->heads, c->queries, c->value_width);
  attention_backward(
      problem_of(*c),
      {.out = {c->out, of_out}, .grad_out = {c->grad_out, of_out}, .state = c->state},
      {.query = {c->grad_query, of_query},
       .key = {c->grad_key, contiguous(c->kv_heads, c->keys, c->width)},
       .value = {c->grad_value, contiguous(c->kv_heads, c->keys, c->value_width)}});
}

void heed_bench_reductions(const BenchCase* c) {
  attention_weights(problem_of(*c), c->state, {.entropy = c->entropy, .received = c->received});
}
}
