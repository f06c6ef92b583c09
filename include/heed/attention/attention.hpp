#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <optional>

#include "heed/attention/attend.hpp"
#include "heed/attention/score.hpp"
#include "heed/attention/trace.hpp"

namespace heed {

/// Which parts an attention module is made of.
struct AttentionConfig {
  PartSpec score = "scaled-dot";
  PartSpec align = "soft";
  std::string dimensionality = "single";
  double dropout = 0;  // on the weights, in training
};

/// A parameter with its sizes.
struct SizedParam {
  ParamInfo info;
  std::vector<std::int64_t> shape;

  /// Its value at the start.
  Tensor initial() const;
};

/// The parameters of a score and an alignment for these widths; those that meet a query are left
/// out when there is none. InputError if a part is unknown, planned, or cannot serve.
std::vector<SizedParam> parameters_of(const PartSpec& score, const PartSpec& align,
                                      const Problem& problem,
                                      const std::string& dimensionality = "single");

/// One attention module: score, align and combine with their learned parameters.
class AttentionImpl : public torch::nn::Module {
 public:
  /// InputError if a part is unknown, planned, or cannot serve these widths.
  AttentionImpl(AttentionConfig config, const Problem& problem);

  /// query [B, d_q] → [B, d_v]; query [B, Q, d_q] → [B, Q, d_v]; an undefined query is legal for
  /// scores that do without. `keys` are also the values. The weights go to the slot when wanted,
  /// and come from it when replaced.
  Tensor attend(const Tensor& query, const Input& keys, const TraceSlot& slot);
  Tensor attend(const Tensor& query, const Input& keys, const Tensor& values,
                const TraceSlot& slot);

  const AttentionConfig& config() const { return config_; }

 private:
  AttentionConfig config_;
};
TORCH_MODULE(Attention);

}  // namespace heed
