#pragma once
#include <optional>

#include "heed/attention/score.hpp"

namespace heed {

/// What an alignment sees of a row of scores.
struct AlignInput {
  Tensor scores;    // [B, H, Q, K]; arbitrary, even NaN, where `keep` is false
  Tensor keep;      // bool, broadcasts to the scores; undefined: all take part
  Tensor sink;      // [H], one more logit in the denominator; undefined: none
  Tensor query;     // [B, H, Q, d_q]; undefined: there is none
  Tensor key;       // [B, H, 1 or Q, K, d_k]; 0 where masked; `form` has none
  Tensor distance;  // i + offset − j, [B or 1, 1, Q, K]; `form` has none
  Tensor lengths;   // [B] valid keys; undefined: all
  std::int64_t heads = 0, keys = 0;
  torch::ScalarType type = torch::kFloat32;  // of the scores
  std::uint64_t seed = 0;                    // for those that sample
};

struct Aligned {
  Tensor weights;  // [B, H, Q, K]; exactly 0 where masked
  Tensor lse;      // [B, H, Q]; −∞ for an empty row; undefined where the alignment has none
  Tensor logp;     // [B, H, Q]: log-probability of what was chosen; undefined where nothing is
  Tensor choice_entropy;  // [B, H, Q]: of the distribution that the choice is drawn from
};

/// An alignment as the fused kernel knows it.
struct AlignForm {
  enum class Kind { soft, sparsemax, entmax15, entmax, sigmoid, top_k, hard, local_p };
  Kind kind = Kind::soft;
  std::int64_t top = 1;           // top_k
  bool sample = false;            // hard
  bool straight_through = false;  // hard
  double reach = 0;               // local_p
  Tensor alpha;                   // entmax: [H]
  Tensor center;                  // local_p: [B, H, Q]
  std::int64_t window = -1;       // softmax inside ±window of the query's own position; −1: all
};

/// How a random choice is trained by REINFORCE.
struct ChoiceLearning {
  double entropy = 0;     // weight of the entropy term
  double baseline = 0.9;  // decay of the moving average that the reward is held against
};

/// The two as options of an alignment.
OptionInfo entropy_option();
OptionInfo baseline_option();
ChoiceLearning choice_learning(const Options& options);

/// Scores to weights, row by row.
class Align {
 public:
  virtual ~Align() = default;

  virtual std::vector<ParamInfo> params() const { return {}; }

  /// Sizes of the free letters when a module makes the parameters.
  virtual Letters default_sizes(const Problem&) const { return {}; }

  /// True if the weights of a row with something to attend to sum to one (without a sink).
  virtual bool sums_to_one() const = 0;

  /// True if the reference gives a log-sum-exp, a log-probability of a choice, draws numbers.
  virtual bool has_lse() const { return true; }
  virtual bool has_logp() const { return false; }
  virtual bool draws() const { return false; }

  /// How its choices are trained; none: it makes none, or they have gradients of their own.
  virtual std::optional<ChoiceLearning> learning() const { return std::nullopt; }

  virtual bool needs_query() const { return false; }

  /// True if the fused kernel serves it; `form` then says how. Neither reads the scores.
  virtual bool has_form() const { return false; }
  virtual AlignForm form(const AlignInput&, const Params&) const { return {}; }

  virtual Aligned reference(const AlignInput& input, const Params& params) const = 0;
};

/// Softmax over the keys that `keep` lets through; a row with none has weights 0 and lse −∞.
Aligned masked_softmax(const Tensor& scores, const Tensor& keep, const Tensor& sink = {});

/// `keep` and `also`, either of which may be undefined (all).
Tensor both(const Tensor& keep, const Tensor& also);

}  // namespace heed
