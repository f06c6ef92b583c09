#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "heed/attention/part.hpp"
#include "heed/attention/tensor.hpp"

namespace heed {

namespace dist {
class Group;
}

/// Which keys a query sees by position: key j is visible to query i when j ≤ i + offset.
struct Causal {
  enum class Corner { none, same, top_left, bottom_right, offset };
  Corner corner = Corner::none;
  std::int64_t offset = 0;  // for Corner::offset

  /// A bare `true`: legal only when both lengths agree.
  static Causal same() { return {.corner = Corner::same}; }
  static Causal top_left() { return {.corner = Corner::top_left}; }
  /// The last query sees the last key, of each entry's length where lengths are given.
  static Causal bottom_right() { return {.corner = Corner::bottom_right}; }
  static Causal at(std::int64_t offset) { return {.corner = Corner::offset, .offset = offset}; }
};

/// What to return beside the output. All but weights and scores are O(length) in size.
struct Want {
  bool weights = false;            // [B, H, Q, K], before dropout
  bool scores = false;             // [B, H, Q, K], after bias, before mask
  bool lse = false;                // [B, H, Q], natural, float32
  bool logp = false;               // [B, H, Q], float32: of what a hard or reinforced one chose
  bool choice_entropy = false;     // [B, H, Q]: of the distribution that it chose from
  bool entropy = false;            // [B, H, Q], of the weights, natural
  bool received = false;           // [B, H, K], Σ over queries of the weight a key gets
  bool kernel = false;             // which kernel ran, and why the others could not
  std::int64_t topk = 0;           // the k largest weights of each query and their keys
  std::vector<std::int64_t> rows;  // the weights of these queries, [B, H, rows, K]
};

enum class Layout { bhld, blhd };
enum class Kernel { automatic, fused, unfused, reference };

struct AttendOptions {
  PartSpec score = "scaled-dot";
  PartSpec align = "soft";
  std::string dimensionality = "single";
  Params params;
  Tensor mask;   // bool, true = take part; rank 1 (k), 2 (q, k), 3 (heads, q, k), 4 (batch, heads,
                 // q, k)
  Tensor bias;   // float, same ranks, added to the score; −∞ masks
  Tensor alibi;  // [H] slopes: adds −slope · |i + offset − j|
  Causal causal;
  std::optional<std::array<std::int64_t, 2>>
      window;                   // (left, right) round i + offset, −1 = unbounded
  Tensor lengths;               // [B] valid keys of each entry
  std::optional<double> scale;  // none: 1/√d_k for scaled-dot, 1 for the others
  std::optional<double> softcap;
  Tensor sink;  // [H], one logit in the denominator; soft only
  double dropout_p = 0;
  std::optional<std::uint64_t> seed;  // none: drawn from torch's generator
  Layout layout = Layout::bhld;
  Kernel kernel = Kernel::automatic;
  Tensor query_offsets, key_offsets;  // set by attend_packed
  Tensor weights;  // used instead of computed ones, [B, H, Q, K]; score and align do not run
  Want want;
  dist::Group* group = nullptr;  // set: query, key and value are this rank's part of one sequence,
                                 // see ring.hpp
};

struct AttendResult {
  Tensor output;
  Tensor weights, scores, lse, logp, choice_entropy, entropy, received;
  Tensor topk_weights, topk_keys;
  Tensor rows;
  std::string kernel;
};

/// Attention by the numerical contract (docs/design.md).
///
/// query [B, H, Q, d_q], key [B, H_kv, K, d_k], value [B, H_kv, K, d_v] → output [B, H, Q, d_v];
/// H is a multiple of H_kv. 3-D inputs have no heads axis, and neither have the results. `query`
/// may be undefined for a score that can do without one; then Q = 1. Strides are free.
AttendResult attend(const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttendOptions& options = {});

/// A ragged batch without padding: query [total, H, d_q], key [total, H_kv, d_k], value [total,
/// H_kv, d_v] → output [total, H, d_v]. Entry b has rows offsets[b] .. offsets[b + 1]; both offsets
/// are whole numbers, one more than entries. Masks and biases are [B, H, Q, K] of the longest entry
/// or broadcast to it, and start at each entry's own first row and column. Row results are [total,
/// H].
AttendResult attend_packed(const Tensor& query, const Tensor& key, const Tensor& value,
                           const Tensor& query_offsets, const Tensor& key_offsets,
                           const AttendOptions& options = {});

}  // namespace heed
