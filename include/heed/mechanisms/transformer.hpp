#pragma once
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "heed/mechanisms/attender.hpp"

namespace heed {

/// What transformer layers are made of. Heads come from `parts.queries`; score, alignment and
/// position are free, so that any attention may stand where the paper has softmax.
struct TransformerOptions {
  AttentionSpec parts;
  std::int64_t dim = 0;
  std::int64_t layers = 2;
  std::int64_t ffn = 0;  // width of the hidden layer; 0: four times dim
  std::string act = "relu";
  bool norm_first = false;  // pre-norm; else as in the paper
  double dropout = 0;       // on what a sublayer adds, and inside the feed-forward one
};

/// The option `ffn`, wherever layers are made from a config.
OptionInfo ffn_option();

/// x ← norm(x + sublayer(x)), or x + sublayer(norm(x)): attention to oneself, then, in a decoder,
/// attention to a memory, then the feed-forward layer.
class TransformerLayerImpl : public torch::nn::Module {
 public:
  TransformerLayerImpl(const TransformerOptions& options, bool decoder);

  /// x [B, N, dim]. `memory` is read by decoders only. Writes the maps "self" and "memory".
  Tensor forward(const Input& x, const Input& memory, const TraceSlot& slot);

  /// One more position of a decoder, x [rows, 1, dim]. `kept` [rows, t, dim] is what
  /// self-attention was given so far, undefined at first; x is added to it. The memory's batch may
  /// be smaller: entry b is then read by rows / B rows in turn.
  Tensor step(const Tensor& x, const Input& memory, Tensor& kept, const TraceSlot& slot);

 private:
  template <class Sublayer>
  Tensor residual(const Tensor& x, torch::nn::LayerNorm& norm, const Sublayer& sublayer);
  Tensor feed_forward(const Tensor& x);
  Tensor drop(const Tensor& x) const;

  std::string act_;
  bool norm_first_, decoder_;
  double dropout_;
  Attender self_{nullptr}, cross_{nullptr};
  torch::nn::Linear inner_{nullptr}, outer_{nullptr};
  torch::nn::LayerNorm norm_self_{nullptr}, norm_cross_{nullptr}, norm_feed_{nullptr};
};
TORCH_MODULE(TransformerLayer);

/// Layers that attend to their own input. Positions that are added to features are added once, at
/// the bottom. What lies past the lengths is never read; the output there is anything finite.
class TransformerEncoderImpl : public torch::nn::Module {
 public:
  explicit TransformerEncoderImpl(const TransformerOptions& options);

  /// x [B, N, dim] → the same. Maps "layer 1/self" … below the slot.
  Tensor forward(const Input& x, const TraceSlot& slot);

 private:
  std::shared_ptr<Position> position_;
  std::vector<TransformerLayer> layers_;
  torch::nn::LayerNorm norm_{nullptr};  // after pre-norm layers
};
TORCH_MODULE(TransformerEncoder);

/// Layers in which a position sees those before it, and a memory (the encoder's output).
class TransformerDecoderImpl : public torch::nn::Module {
 public:
  explicit TransformerDecoderImpl(const TransformerOptions& options);

  /// x [B, T, dim], memory [B, N, dim] → [B, T, dim]. Maps "layer 1/self", "layer 1/memory" …
  Tensor forward(const Input& x, const Input& memory, const TraceSlot& slot);

  /// The last row of `forward` on what was given so far and x [rows, 1, dim], in time O(T). `kept`
  /// holds a tensor a layer, as in TransformerLayer; empty at first. Reorder its rows to go on
  /// from others.
  Tensor step(const Tensor& x, const Input& memory, std::vector<Tensor>& kept,
              const TraceSlot& slot);

 private:
  std::shared_ptr<Position> position_;
  std::vector<TransformerLayer> layers_;
  torch::nn::LayerNorm norm_{nullptr};
};
TORCH_MODULE(TransformerDecoder);

}  // namespace heed
