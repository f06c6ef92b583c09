#pragma once
#include "heed/mechanisms/mechanism.hpp"

namespace heed {

/// Inputs of a mechanism as its registry entry asks for them, with the lengths of each entry.
/// A new mechanism is walked without a line here unless it takes something no other does.
struct Walked {
  std::vector<Input> inputs;
  Tensor query;  // [B, kWidth]

  static constexpr std::int64_t kWidth = 4;

  /// Random, float64; `lengths` are the first input's, others are a little shorter.
  Walked(const PartInfo& info, std::vector<std::int64_t> lengths);

  Inputs given() const;
  /// Entry b alone, cut to its lengths.
  Walked alone(std::int64_t b) const;
  /// The same with NaN in all padding.
  Walked poisoned() const;
  /// The input tensors and the query, as leaves with gradients.
  std::vector<Tensor> leaves();

  std::vector<MechanismProblem::NamedWidth> widths() const;
};

/// Every built mechanism with a context.
std::vector<PartInfo> walked_mechanisms();

/// In float64. Seeded by `seed`.
std::shared_ptr<Mechanism> make_walked(const PartInfo& info, AttentionSpec parts,
                                       std::uint64_t seed = 5);

}  // namespace heed
