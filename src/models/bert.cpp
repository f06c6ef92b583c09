#include "heed/models/bert.hpp"

#include <torch/nn/functional/activation.h>

#include "heed/attention/attend.hpp"
#include "heed/base/error.hpp"
#include "heed/data/safetensors.hpp"

namespace heed {
namespace {

namespace nn = torch::nn;

nn::LayerNorm bert_norm(const BertConfig& config) {
  return nn::LayerNorm(nn::LayerNormOptions({config.width}).eps(config.eps));
}

/// The tensors of a published file by their names there, checked.
class Published {
 public:
  explicit Published(const std::filesystem::path& file)
      : source_(file.string()), tensors_(read_safetensors(file).tensors) {}

  Tensor get(const std::string& name, at::IntArrayRef shape) const {
    const auto found = tensors_.find(name);
    HEED_CHECK(found != tensors_.end(),
               "{}: no tensor '{}'; the weights of a BERT encoder are needed", source_, name);
    const Tensor& tensor = found->second;
    HEED_CHECK(tensor.is_floating_point() && tensor.sizes() == shape,
               "{}: '{}' is {} of {}, but config.json asks for {}", source_, name,
               shape_text(tensor), torch::toString(tensor.scalar_type()),
               shape_text(torch::empty(shape, torch::kMeta)));
    HEED_CHECK(torch::isfinite(tensor).all().item<bool>(), "{}: '{}' has a NaN or infinity",
               source_, name);
    return tensor.to(torch::kFloat32);
  }

 private:
  std::string source_;
  std::map<std::string, Tensor> tensors_;
};

/// Visits what is published as NAME.weight and NAME.bias.
template <class Visit, class Module>
void visit_pair(const Visit& visit, const std::string& name, const Module& module) {
  visit(name + ".weight", module->weight);
  visit(name + ".bias", module->bias);
}

/// 0, 1, … from each offset on, [T].
Tensor places_in_sequences(const Tensor& offsets, std::int64_t total) {
  const Tensor sizes = offsets.diff();
  return torch::arange(total) - offsets.slice(0, 0, -1).repeat_interleave(sizes);
}

}  // namespace

BertLayer::BertLayer(const BertConfig& config) : heads_(config.heads), dropout_(config.dropout) {
  const std::int64_t width = config.width;
  qkv_ = register_module("qkv", nn::Linear(width, 3 * width));
  out_ = register_module("out", nn::Linear(width, width));
  norm_attention_ = register_module("norm_attention", bert_norm(config));
  inner_ = register_module("inner", nn::Linear(width, config.inner));
  outer_ = register_module("outer", nn::Linear(config.inner, width));
  norm_output_ = register_module("norm_output", bert_norm(config));
}

Tensor BertLayer::forward(const Tensor& x, const Tensor& offsets) {
  const auto drop = [&](const Tensor& y) { return torch::dropout(y, dropout_, is_training()); };
  const std::int64_t total = x.size(0), width = x.size(1);
  const auto parts = qkv_->forward(x).view({total, 3, heads_, width / heads_}).unbind(1);
  const Tensor attended = attend_packed(parts[0], parts[1], parts[2], offsets, offsets,
                                        {.dropout_p = is_training() ? dropout_ : 0})
                              .output;
  const Tensor y =
      norm_attention_->forward(x + drop(out_->forward(attended.reshape({total, width}))));
  return norm_output_->forward(y + drop(outer_->forward(torch::gelu(inner_->forward(y)))));
}

template <class Visit>
void BertLayer::visit(const Visit& visit) const {
  const std::int64_t width = out_->weight.size(0);
  std::int64_t from = 0;
  for (const char* part : {"query", "key", "value"}) {
    const std::string name = fmt::format("attention.self.{}", part);
    visit(name + ".weight", qkv_->weight.narrow(0, from, width));
    visit(name + ".bias", qkv_->bias.narrow(0, from, width));
    from += width;
  }
  visit_pair(visit, "attention.output.dense", out_);
  visit_pair(visit, "attention.output.LayerNorm", norm_attention_);
  visit_pair(visit, "intermediate.dense", inner_);
  visit_pair(visit, "output.dense", outer_);
  visit_pair(visit, "output.LayerNorm", norm_output_);
}

Bert::Bert(const BertConfig& config) : config_(config) {
  HEED_CHECK(config.heads > 0 && config.width % config.heads == 0,
             "bert: width {} is not divisible by {} heads", config.width, config.heads);
  words_ = torch::zeros({config.vocabulary, config.width});
  places_ = torch::zeros({config.positions, config.width});
  kinds_ = torch::zeros({2, config.width});
  norm_ = register_module("norm", bert_norm(config));
  for (std::int64_t l = 0; l < config.layers; ++l) {
    layers_.push_back(
        register_module(fmt::format("layer_{}", l + 1), std::make_shared<BertLayer>(config)));
  }
}

std::vector<Tensor> Bert::forward(const Tensor& ids, const Tensor& offsets, const Tensor& kinds) {
  const Tensor places = places_in_sequences(offsets, ids.size(0));
  const Tensor kind = kinds.defined() ? kinds_.index_select(0, kinds) : kinds_[0];
  const Tensor x = (words_.index_select(0, ids) + places_.index_select(0, places) + kind)
                       .to(norm_->weight.scalar_type());
  std::vector<Tensor> states = {torch::dropout(norm_->forward(x), config_.dropout, is_training())};
  for (const auto& layer : layers_) states.push_back(layer->forward(states.back(), offsets));
  return states;
}

template <class Visit>
void Bert::visit(const Visit& visit) const {
  visit("embeddings.word_embeddings.weight", words_);
  visit("embeddings.position_embeddings.weight", places_);
  visit("embeddings.token_type_embeddings.weight", kinds_);
  visit_pair(visit, "embeddings.LayerNorm", norm_);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    layers_[l]->visit([&](const std::string& name, const Tensor& weight) {
      visit(fmt::format("encoder.layer.{}.{}", l, name), weight);
    });
  }
}

void Bert::load(const std::filesystem::path& safetensors) {
  const Published file(safetensors);
  const torch::NoGradGuard fixed;
  visit([&](const std::string& name, const Tensor& weight) {
    weight.copy_(file.get(name, weight.sizes()));
  });
}

void Bert::save(const std::filesystem::path& safetensors) const {
  std::vector<std::pair<std::string, Tensor>> weights;
  visit([&](const std::string& name, const Tensor& weight) {
    weights.emplace_back(name, weight.detach());
  });
  write_safetensors(safetensors, weights);
}

}  // namespace heed
