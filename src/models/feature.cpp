#include "heed/models/feature.hpp"

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/rnn.h>
#include <torch/nn/utils/rnn.h>

#include "heed/base/error.hpp"

namespace heed {
namespace {

namespace nn = torch::nn;

/// The vectors themselves.
class Embedding : public FeatureModel {
 public:
  explicit Embedding(const FeatureProblem& p) : dim_(p.input) {}
  Tensor forward(const Input& vectors) override { return vectors.data; }
  std::int64_t output_dim() const override { return dim_; }

 private:
  std::int64_t dim_;
};

/// Convolutions over the words; padding is silenced before each, so that it never mixes in.
class Cnn : public FeatureModel {
 public:
  explicit Cnn(const FeatureProblem& p) : dim_(p.dim), dropout_(p.dropout) {
    const std::int64_t width = get<std::int64_t>(p.options, "width");
    HEED_CHECK(width % 2 == 1, "feature 'cnn': width {} is even; an odd one has a middle, try {}",
               width, width + 1);
    for (std::int64_t i = 0; i < p.layers; ++i) {
      layers_.push_back(register_module(
          fmt::format("conv{}", i),
          nn::Conv1d(
              nn::Conv1dOptions(i == 0 ? p.input : p.dim, p.dim, width).padding(width / 2))));
    }
  }

  Tensor forward(const Input& vectors) override {
    Input x = vectors;
    for (auto& layer : layers_)
      x.data = torch::relu(layer->forward(zero_padding(x).data.transpose(1, 2))).transpose(1, 2);
    return torch::dropout(x.data, dropout_, is_training());
  }
  std::int64_t output_dim() const override { return dim_; }

 private:
  std::vector<nn::Conv1d> layers_;
  std::int64_t dim_;
  double dropout_;
};

/// LSTM or GRU, one direction or both, over packed sequences: padding never enters.
template <class Layer, class LayerOptions>
class Recurrent : public FeatureModel {
 public:
  Recurrent(const FeatureProblem& p, bool both) : dim_(p.dim), dropout_(p.dropout) {
    HEED_CHECK(!both || p.dim % 2 == 0,
               "feature: dim {} cannot be halved between two directions; try {}", p.dim, p.dim + 1);
    layer_ = register_module("rnn", Layer(LayerOptions(p.input, both ? p.dim / 2 : p.dim)
                                              .num_layers(p.layers)
                                              .bidirectional(both)
                                              .batch_first(true)
                                              .dropout(p.layers > 1 ? p.dropout : 0)));
  }

  Tensor forward(const Input& vectors) override {
    if (vectors.data.size(1) == 0) return vectors.data.new_zeros({vectors.data.size(0), 0, dim_});
    const Input x = zero_padding(vectors);  // a view may be empty: its first position is run
    const Tensor lengths = x.lengths.defined()
                               ? x.lengths.clamp_min(1)
                               : torch::full({x.data.size(0)}, x.data.size(1), torch::kInt64);
    const auto packed = nn::utils::rnn::pack_padded_sequence(x.data, lengths, true, false);
    const auto out = std::get<0>(layer_->forward_with_packed_input(packed));
    const Tensor features =
        std::get<0>(nn::utils::rnn::pad_packed_sequence(out, true, 0.0, x.data.size(1)));
    return torch::dropout(features, dropout_, is_training());
  }
  std::int64_t output_dim() const override { return dim_; }

 private:
  Layer layer_{nullptr};
  std::int64_t dim_;
  double dropout_;
};

using Lstm = Recurrent<nn::LSTM, nn::LSTMOptions>;
using Gru = Recurrent<nn::GRU, nn::GRUOptions>;

PartInfo entry(std::string id, std::string title, std::string formula, std::string paper,
               std::string advice, MakeFeature make, std::vector<OptionInfo> options = {}) {
  return {.id = std::move(id),
          .group = Group::feature,
          .title = std::move(title),
          .formula = std::move(formula),
          .paper = std::move(paper),
          .advice = std::move(advice),
          .options = std::move(options),
          .promises = "same bits at the same thread count",
          .make = std::move(make)};
}

template <class Model>
MakeFeature recurrent(bool both) {
  return [both](const FeatureProblem& p) { return std::make_shared<Model>(p, both); };
}

}  // namespace

std::vector<PartInfo> feature_models() {
  const std::string lstm = "Hochreiter & Schmidhuber 1997", gru = "Cho et al. 2014",
                    both = "Schuster & Paliwal 1997";
  return {
      entry("embedding", "Word vectors", "f_l = E_{x_l}", "–",
            "no order at all: the baseline of feature models",
            [](const FeatureProblem& p) { return std::make_shared<Embedding>(p); }),
      entry("cnn", "Convolution", R"(f_l = \mathrm{ReLU}(W [E_{x_{l-r}} \dots E_{x_{l+r}}] + b))",
            "Kim 2014", "neighbouring words, in parallel",
            [](const FeatureProblem& p) { return std::make_shared<Cnn>(p); },
            {{.name = "width",
              .fallback = std::int64_t{3},
              .doc = "words a filter sees, odd",
              .min = 1,
              .max = 101}}),
      entry("lstm", "LSTM", R"(f_l = \mathrm{LSTM}(E_{x_l}, f_{l-1}))", lstm,
            "order, left to right", recurrent<Lstm>(false)),
      entry("bilstm", "Bidirectional LSTM", R"(f_l = [\overrightarrow{f_l}; \overleftarrow{f_l}])",
            both, "order from both sides", recurrent<Lstm>(true)),
      entry("gru", "GRU", R"(f_l = \mathrm{GRU}(E_{x_l}, f_{l-1}))", gru,
            "as LSTM, a quarter cheaper", recurrent<Gru>(false)),
      entry("bigru", "Bidirectional GRU", R"(f_l = [\overrightarrow{f_l}; \overleftarrow{f_l}])",
            both, "the default: order from both sides", recurrent<Gru>(true)),
  };
}

}  // namespace heed
