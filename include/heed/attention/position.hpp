#pragma once
#include "heed/attention/attention.hpp"

namespace heed {

/// What a position encoding is made for: one attention module.
struct PositionProblem {
  std::int64_t dim = 0;       // width of the features
  std::int64_t heads = 1;     // of the attention
  std::int64_t head_dim = 0;  // width of a query and a key inside it
  std::string score;          // how they meet
  Options options;            // of the position, resolved
};

/// How order enters attention, by one of two ways: as something added to the features, or as
/// something done to queries and keys. This class does neither: it is the position "none".
class Position : public torch::nn::Module {
 public:
  /// True if `add` does something.
  virtual bool adds() const { return false; }
  /// Features [B, N, dim] with their places in them.
  virtual Tensor add(const Tensor& features) const { return features; }
  /// An asking whose queries and keys [B, L, d] or [B, H, L, d] know their places. InputError if
  /// the queries have none: they must be of the same input as the keys.
  virtual Asking place(const Asking& asking) const { return asking; }

  /// `add` for the keys, and for the queries where they are the same input.
  Asking mark(const Asking& asking) const;
};

/// The module of a spec; options are resolved, `problem.options` is not read.
std::shared_ptr<Position> make_position(const PartSpec& spec, PositionProblem problem);

}  // namespace heed
