#include "kernels/check.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace heed::kernels {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::invalid_argument("attention: " + what);
}

void check_offsets(const char* name, const std::int64_t* offsets, std::int64_t batch,
                   std::int64_t longest) {
  if (offsets == nullptr) return;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t length = offsets[b + 1] - offsets[b];
    if (offsets[b] < 0 || length < 0 || length > longest) {
      fail(std::string(name) + " give entry " + std::to_string(b) + " a length of " +
           std::to_string(length) + "; it must be 0 to " + std::to_string(longest));
    }
  }
}

}  // namespace

void check_problem(const AttentionProblem& p) {
  for (const auto& [name, size] : {std::pair{"batch", p.batch},
                                   {"heads", p.heads},
                                   {"kv_heads", p.kv_heads},
                                   {"queries", p.queries},
                                   {"keys", p.keys},
                                   {"width", p.width},
                                   {"value_width", p.value_width}}) {
    if (size < 0) fail(std::string(name) + " is " + std::to_string(size) + ", below 0");
  }
  if (p.heads > 0 && (p.kv_heads == 0 || p.heads % p.kv_heads != 0)) {
    fail(std::to_string(p.heads) + " heads are not a multiple of " + std::to_string(p.kv_heads) +
         " key/value heads");
  }
  if (!std::isfinite(p.scale)) fail("scale is " + std::to_string(p.scale) + "; it must be finite");
  if (!(p.softcap >= 0) || !std::isfinite(p.softcap)) {
    fail("softcap is " + std::to_string(p.softcap) + "; it must be finite and not negative");
  }
  if (!(p.dropout >= 0 && p.dropout <= 1)) {
    fail("dropout is " + std::to_string(p.dropout) + "; it must be 0 to 1");
  }
  if (p.score == Score::additive) {
    if (p.weight == nullptr) fail("additive scores need a weight");
    if (p.weight_stride != 0 && p.heads != p.kv_heads) {
      fail("additive weights of each head need as many key/value heads");
    }
  }
  if (p.align != Align::soft && p.sink != nullptr) fail("a sink goes with soft alignment only");
  if (p.align == Align::entmax) {
    if (p.alpha == nullptr) fail("entmax needs alpha");
    for (std::int64_t h = 0; h < p.heads; ++h) {
      const double alpha = p.type == Type::float64 ? static_cast<const double*>(p.alpha)[h]
                                                   : static_cast<const float*>(p.alpha)[h];
      if (!(alpha > 1) || !std::isfinite(alpha)) {
        fail("alpha is " + std::to_string(alpha) + "; it must be finite and above 1");
      }
    }
  }
  if (p.align == Align::top_k && p.top < 1) {
    fail("top is " + std::to_string(p.top) + "; it must be above 0");
  }
  if (p.align == Align::local_p) {
    const bool rows = p.batch > 0 && p.heads > 0 && p.queries > 0;
    if (rows && p.center.data == nullptr) fail("local_p needs centers");
    if (!(p.reach > 0)) fail("reach is " + std::to_string(p.reach) + "; it must be above 0");
  }
  check_offsets("query_offsets", p.query_offsets, p.batch, p.queries);
  check_offsets("key_offsets", p.key_offsets, p.batch, p.keys);
}

void check_multi(const AttentionProblem& p) {
  check_problem(p);
  if (p.score != Score::additive) fail("multi-dimensional attention needs additive scores");
  if (p.align != Align::soft) fail("multi-dimensional attention needs soft alignment");
  if (p.sink != nullptr || p.row_bias.data != nullptr || p.column_bias.data != nullptr ||
      p.query_offsets != nullptr || p.key_offsets != nullptr) {
    fail("multi-dimensional attention takes no sink, row or column bias, nor ragged batches");
  }
}

bool needs_mean(const AttentionProblem& p) {
  return p.align == Align::sparsemax || p.align == Align::entmax15 || p.align == Align::entmax ||
         (p.align == Align::hard && p.straight_through);
}

void check_rows(const AttentionProblem& p, const WeightsResult& result) {
  if (result.rows == nullptr) return;
  if (p.query_offsets != nullptr) fail("rows cannot be chosen in a ragged batch");
  for (std::int64_t i = 0; i < result.row_count; ++i) {
    if (result.rows[i] < 0 || result.rows[i] >= p.queries) {
      fail("row " + std::to_string(result.rows[i]) + " of " + std::to_string(p.queries) +
           " queries was asked for");
    }
  }
}

}  // namespace heed::kernels
