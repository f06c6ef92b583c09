#pragma once
#include "heed/mechanisms/attender.hpp"

namespace heed {

/// One vector a word of E embeddings: each is brought to one width, then they are attended to.
///
/// As the mechanism `meta-embedding` its features are then attended to with the query; on its own
/// it is a feature model's first step.
class MetaFeaturesImpl : public torch::nn::Module {
 public:
  /// One embedding for each of `problem.inputs`, brought to `dim`.
  MetaFeaturesImpl(const MechanismProblem& problem, std::int64_t dim);

  /// Inputs [B, N, d_e] with the same N → [B, N, output_dim]; lengths and name are the first's. The
  /// weights are [B, H, N, E]: a row a word.
  Input forward(const Inputs& in, const TraceSlot& slot);
  std::int64_t output_dim() const { return attender_->output_dim(); }

 private:
  std::vector<std::string> names_;
  std::vector<torch::nn::Linear> to_one_width_;
  Attender attender_{nullptr};
};
TORCH_MODULE(MetaFeatures);

}  // namespace heed
