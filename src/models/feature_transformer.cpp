#include <torch/nn/modules/linear.h>

#include <cmath>

#include "heed/attention/score.hpp"
#include "heed/mechanisms/transformer.hpp"
#include "heed/models/feature.hpp"
#include "models/parts.hpp"

namespace heed {
namespace {

/// The encoder of Vaswani et al.: vectors times √dim, places, layers.
class TransformerFeatures : public FeatureModel {
 public:
  explicit TransformerFeatures(const FeatureProblem& p) : dim_(p.dim) {
    if (p.input != p.dim) project_ = register_module("project", torch::nn::Linear(p.input, p.dim));
    AttentionSpec parts{.score = "scaled-dot"};
    parts.queries = {"multi-head", {{"heads", get<std::int64_t>(p.options, "heads")}}};
    parts.position = get<std::string>(p.options, "position");
    encoder_ =
        register_module("encoder", TransformerEncoder(TransformerOptions{
                                       .parts = parts,
                                       .dim = p.dim,
                                       .layers = p.layers,
                                       .ffn = get<std::int64_t>(p.options, "ffn"),
                                       .act = get<std::string>(p.options, "act"),
                                       .norm_first = get<std::string>(p.options, "norm") == "pre",
                                       .dropout = p.dropout}));
  }

  Tensor forward(const Input& vectors) override {
    Input x = zero_padding(vectors);
    if (project_) x.data = project_->forward(x.data);
    x.data = x.data * std::sqrt(static_cast<double>(dim_));
    Trace nobody;
    return encoder_->forward(x, nobody["feature"]);
  }
  std::int64_t output_dim() const override { return dim_; }

 private:
  std::int64_t dim_;
  torch::nn::Linear project_{nullptr};
  TransformerEncoder encoder_{nullptr};
};

}  // namespace

std::vector<OptionInfo> transformer_options() {
  OptionInfo act = act_option();
  act.fallback = std::string("relu");
  return {{.name = "heads",
           .fallback = std::int64_t{4},
           .doc = "of each attention",
           .min = 1,
           .max = 1024},
          ffn_option(),
          act,
          {.name = "norm",
           .fallback = std::string("pre"),
           .doc = "where the layer norm stands: before a sublayer, or after the sum (the paper)",
           .choices = {"pre", "post"}}};
}

PartInfo transformer_feature() {
  std::vector<OptionInfo> options = transformer_options();
  options.push_back({.name = "position",
                     .fallback = std::string("sinusoidal"),
                     .doc = "how order enters",
                     .choices = {"none", "sinusoidal", "learned", "rope", "alibi", "relative"}});
  return {
      .id = "transformer",
      .group = Group::feature,
      .title = "Transformer encoder",
      .formula = R"(x \leftarrow x + \mathrm{attend}(x, x), \; x \leftarrow x + \mathrm{FFN}(x))",
      .paper = "Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020",
      .advice = "every word sees every other; several layers, more data",
      .options = std::move(options),
      .promises = "same bits at the same thread count",
      .make = MakeFeature([](const FeatureProblem& p) -> std::shared_ptr<FeatureModel> {
        return std::make_shared<TransformerFeatures>(p);
      })};
}

}  // namespace heed
