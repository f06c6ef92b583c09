#include "heed/attention/tensor.hpp"

#include <fmt/ranges.h>

namespace heed {

Tensor valid_positions(const Input& input) {
  if (!input.lengths.defined()) return {};
  const Tensor positions = torch::arange(input.data.size(1), input.lengths.options());
  return positions.unsqueeze(0) < input.lengths.unsqueeze(1);
}

Input without_padding(const Input& input) {
  if (!input.lengths.defined()) return input;
  const Tensor padding = valid_positions(input).logical_not().unsqueeze(-1);
  return {.data = input.data.masked_fill(padding, 0), .lengths = input.lengths, .name = input.name};
}

Tensor mean(const Input& input) {
  if (!input.lengths.defined()) return input.data.mean(1);
  return without_padding(input).data.sum(1) /
         input.lengths.clamp_min(1).unsqueeze(1).to(input.data.scalar_type());
}

std::string shape_text(const Tensor& tensor) {
  return tensor.dim() == 0 ? "scalar" : fmt::format("{}", fmt::join(tensor.sizes(), "×"));
}

}  // namespace heed
