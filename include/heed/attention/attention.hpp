#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <functional>
#include <memory>
#include <optional>

#include "heed/attention/align.hpp"
#include "heed/attention/attend.hpp"
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

/// One use of an attention module.
struct Asking {
  Input query;         // data [B, d_q], [B, Q, d_q] or [B, H, Q, d_q]; undefined: asks with nothing
  Input keys;          // data [B, N, d_k] or [B, H, N, d_k]
  Tensor values = {};  // [B, N, d_v] or [B, H, N, d_v]; undefined: the keys
  Causal causal = {};
  Tensor mask = {}, bias = {}, alibi = {};  // as in AttendOptions
  dist::Group* group = nullptr;  // set: query, keys and values are this rank's part, see ring.hpp
  /// Weights of the scores in place of the alignment's, both [B, H, Q, K]. It masks by itself.
  std::function<Tensor(const Tensor& scores)> weigh = {};
  /// Is shown the weights [B, H, Q, K] before they are recorded, with their gradient.
  std::function<void(const Tensor& weights)> see = {};
};

/// One attention module: score, align and combine with their learned parameters.
class AttentionImpl : public torch::nn::Module {
 public:
  /// InputError if a part is unknown, planned, or cannot serve these widths. With more heads than
  /// one each has parameters of its own, and the tensors a heads axis.
  AttentionImpl(AttentionConfig config, const Problem& problem);

  /// query [B, d_q] → [B, d_v]; query [B, Q, d_q] → [B, Q, d_v]; with heads [B, H, Q, d_v]. An
  /// undefined query is legal for scores that do without. The weights go to the slot when wanted,
  /// and come from it when replaced. Alignments that draw do so in training only, and those that
  /// learn by REINFORCE then leave a choice in the slot.
  Tensor attend(const Asking& asking, const TraceSlot& slot);
  /// The same for one query [B, d_q] or an unnamed [B, Q, d_q], with the keys as the values.
  Tensor attend(const Tensor& query, const Input& keys, const TraceSlot& slot);

  /// The scores of an asking, [B, H, Q, K], those of masked keys included; H is 1 without heads.
  Tensor scores(const Asking& asking);

  const AttentionConfig& config() const { return config_; }

 private:
  AttentionConfig config_;
  bool draws_ = false;
  std::optional<ChoiceLearning> learning_;
};
TORCH_MODULE(Attention);

}  // namespace heed
