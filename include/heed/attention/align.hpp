#pragma once
#include "heed/attention/score.hpp"

namespace heed {

/// What an alignment sees of a row of scores.
struct AlignInput {
  Tensor scores;  // [B, H, Q, K]; arbitrary, even NaN, where `keep` is false
  Tensor keep;    // bool, broadcasts to the scores; undefined: all take part
  Tensor sink;    // [H], one more logit in the denominator; undefined: none
};

struct Aligned {
  Tensor weights;  // [B, H, Q, K]; exactly 0 where masked
  Tensor lse;      // [B, H, Q]; −∞ for an empty row; undefined where the alignment has none
};

/// Scores to weights, row by row.
class Align {
 public:
  virtual ~Align() = default;

  virtual std::vector<ParamInfo> params() const { return {}; }

  /// True if the weights of a row with something to attend to sum to one (without a sink).
  virtual bool sums_to_one() const = 0;

  /// True if it is softmax and no more, which the fused kernel computes block by block.
  virtual bool plain_softmax() const { return false; }

  virtual Aligned reference(const AlignInput& input, const Params& params) const = 0;
};

}  // namespace heed
