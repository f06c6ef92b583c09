#pragma once
#include <array>
#include <cstdint>

/// Dot-product attention on raw pointers: forward, backward, and reductions of the weights.
///
/// Shape letters: B batch, H query heads, G key/value heads (H a multiple of G), Q queries, K keys,
/// D width of queries and keys, V width of values. Every stride counts elements, may be zero
/// (broadcast) or negative, and is ordered (batch, head, row, column).
namespace heed::kernels {

enum class Type : std::uint8_t { float32, float64, bfloat16, float16 };
enum class Activation : std::uint8_t {
  identity,
  tanh,
  relu,
  gelu,
  sigmoid
};  // gelu: the exact form
enum class Causal : std::uint8_t { none, offset, bottom_right };

/// What a query and a key make: their dot product, or w · act(query + key).
enum class Score : std::uint8_t { dot, additive };

/// How a row of scores becomes weights. All but soft need the whole row before the first weight.
enum class Align : std::uint8_t {
  soft,
  sparsemax,
  entmax15,
  entmax,
  sigmoid,
  top_k,   // softmax over the `top` largest, ties to the lower key
  hard,    // weight 1 on one key: the largest score, ties to the lower key, or a sample
  local_p  // softmax inside center ± reach, times a Gaussian round the center
};

struct Input {
  const void* data = nullptr;  // null: absent
  std::array<std::int64_t, 4> stride{};
};

/// Must not overlap any input. Elements whose strides coincide (a stride of 0 on a size over 1) are
/// allowed only in `BiasGradient`, where they mean "sum over this axis".
struct Output {
  void* data = nullptr;  // null: not wanted
  std::array<std::int64_t, 4> stride{};
};

/// Accumulation, `row_bias`, `column_bias`, `sink`, `RowState` and their gradients are in the
/// *working type*: double for float64, float for the others.
struct AttentionProblem {
  Type type = Type::float32;
  std::int64_t batch = 0, heads = 0, kv_heads = 0;
  std::int64_t queries = 0, keys = 0;  // longest of each; exact unless `*_offsets` are given
  std::int64_t width = 0, value_width = 0;

  Input query{};  // [B, H, Q, D]
  Input key{};    // [B, G, K, D]
  Input value{};  // [B, G, K, V]

  // dot: score = softcap(scale * act(q·k + row_bias + column_bias)) + bias + alibi, then the masks;
  // additive: w · act(q + k) in place of act(...), plus the row and column bias
  Score score = Score::dot;
  const void* weight = nullptr;    // additive: w, [H, D], working type
  std::int64_t weight_stride = 0;  // from head to head; 0: all share one
  double scale = 1;
  double softcap = 0;  // 0: none; else c * tanh(score / c)
  Activation activation = Activation::identity;
  Input row_bias{};     // [B, H, Q, 1], working type
  Input column_bias{};  // [B, H, K, 1], working type
  Input bias{};         // [B, H, Q, K]; -inf masks the pair
  Type bias_type = Type::float32;
  const float* alibi_slopes = nullptr;  // [H]; adds -slope * |i + offset - j|

  Input mask{};  // [B, H, Q, K] bytes: 0 masks the pair, anything else takes part
  Causal causal = Causal::none;
  // Causal::offset: key j is visible to query i when j <= i + offset; Causal::none: only moves the
  // window and the slopes
  std::int64_t offset = 0;
  std::int64_t window_left = -1, window_right = -1;  // round i + offset; -1: unbounded
  const std::int64_t* lengths = nullptr;             // [B], valid keys of each entry

  const void* sink = nullptr;  // [H], working type: one more logit in each row's denominator; soft

  Align align = Align::soft;
  const void* alpha = nullptr;    // entmax: [H], working type, above 1
  std::int64_t top = 1;           // top_k
  bool sample = false;            // hard: draw from the softmax by `seed`, else the largest
  bool straight_through = false;  // hard: gradients to the scores are the softmax's
  Input center{};                 // local_p: [B, H, Q, 1], working type
  double reach = 0;               // local_p

  double dropout = 0;  // share of weights dropped; kept ones are divided by 1 - dropout
  std::uint64_t seed = 0;

  // Ragged batches: entry b has rows offsets[b] .. offsets[b + 1] of one long axis. The batch
  // strides of query, key, value, row and column bias and the outputs are then ignored; mask and
  // bias keep theirs and start at each entry's own row and column 0.
  const std::int64_t* query_offsets = nullptr;  // [B + 1]
  const std::int64_t* key_offsets = nullptr;    // [B + 1]
};

/// Numbers that describe a row after the forward pass.
constexpr std::int64_t kRowState = 4;

/// Rows of [B, H, Q] results are numbered (b * H + h) * Q + i, in ragged batches
/// h * query_offsets[B] + query_offsets[b] + i; rows of [B, H, K] results likewise.
struct ForwardResult {
  Output out{};  // [B, H, Q, V]
  // [B, H, Q]: natural log-sum-exp of the scores that take part, -inf for a row with none; not for
  // sparsemax, entmax and sigmoid, which have none
  float* lse = nullptr;
  void* state = nullptr;  // [B, H, Q, kRowState], working type: what the other calls need
  // [B, H, Q, V], working type: the values' mean under the gains, which `attention_backward` needs
  // in place of the output for sparsemax, entmax and hard
  Output mean{};
  // [B, H, Q, V], working type: what the gradient to alpha or to the centers needs
  Output drift{};
  float* logp = nullptr;  // [B, H, Q]: hard's log-probability of the chosen key
};

/// Whether `attention_backward` needs `mean`.
bool needs_mean(const AttentionProblem& problem);

/// Computes what is not null in `result`. A row with nothing to attend to gets 0. Values behind a
/// mask are never used, not even multiplied by zero. Same bits at any thread count and for a batch
/// entry alone or in any batch.
void attention_forward(const AttentionProblem& problem, const ForwardResult& result);

/// All [B, H, ...] results of one more pass over the scores; weights are those before dropout.
struct WeightsResult {
  Output weights{};                    // [B, H, Q, K], working type
  Output scores{};                     // [B, H, Q, K], working type: after bias, before masks
  float* entropy = nullptr;            // [B, H, Q]: -Σ p ln p over the keys
  float* received = nullptr;           // [B, H, K]: Σ over queries of the weight each key gets
  const std::int64_t* rows = nullptr;  // only these queries of `weights` and `scores`, in order;
  std::int64_t row_count = 0;          // their row axis then has this length
};

/// `state` is that of `attention_forward` on the same problem.
void attention_weights(const AttentionProblem& problem, const void* state,
                       const WeightsResult& result);

struct BackwardInputs {
  Input out{};       // [B, H, Q, V], as attention_forward gave it
  Input grad_out{};  // [B, H, Q, V]
  const void* state = nullptr;
  Input mean{};                     // as attention_forward gave it, where it needs one
  Input drift{};                    // the same, for gradients to alpha and center
  const float* grad_lse = nullptr;  // [B, H, Q]: gradients that came to lse or logp; null: none
};

/// Gradients are overwritten, not added to. Null: not wanted.
struct BackwardResult {
  Output query{}, key{}, value{};  // as the inputs, of the problem's type
  Output bias{};                   // working type; axes of stride 0 are summed over
  void* row_bias = nullptr;        // [B, H, Q], working type
  void* column_bias = nullptr;     // [B, H, K], working type
  void* sink = nullptr;            // [H], working type
  void* alpha = nullptr;           // [H], working type
  void* center = nullptr;          // [B, H, Q], working type
  void* weight = nullptr;          // [H, D], working type
};

/// Same bits at any thread count; for everything but `sink`, `alpha`, `weight` and a bias summed
/// over the batch also for a batch entry alone or in any batch.
void attention_backward(const AttentionProblem& problem, const BackwardInputs& inputs,
                        const BackwardResult& result);

}  // namespace heed::kernels
