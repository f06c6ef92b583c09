#pragma once
#include <vector>

#include "kernels/support.hpp"

namespace heed::kernels::testing {

/// Whether query i may attend to key j: every mask of the contract, and -inf in the bias.
bool visible(const Case& c, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j);

/// The plain formula in double loops; shares no code with the kernels but the generator.
/// Arrays are contiguous [B, H, Q, ...] (key and value gradients [B, G, K, ...]).
struct Reference {
  std::vector<double> out, lse, logp, weights, scores, entropy, received;
  std::vector<double> grad_query, grad_key, grad_value, grad_bias, grad_row, grad_column, grad_sink,
      grad_alpha, grad_center, grad_weight;
};

/// With `Rounded` = float every operation is rounded to float: the plain formula in that type.
template <class Rounded>
Reference reference(const Case& c, bool backward);

extern template Reference reference<double>(const Case&, bool);
extern template Reference reference<float>(const Case&, bool);

}  // namespace heed::kernels::testing
