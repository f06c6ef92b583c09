#pragma once
#include <torch/nn/module.h>

#include "heed/mechanisms/mechanism.hpp"
#include "heed/models/config.hpp"

namespace heed {

class Stepper;

/// What a decoder is made for.
struct DecoderProblem {
  AttentionSpec parts;      // how it attends to what was read
  std::string input;        // the name of what was read
  std::int64_t memory = 0;  // width of its features
  std::int64_t words = 0;   // that can be written; word 0 is both the begin and the end
  double dropout = 0;
  Options options;  // of the output model, resolved
};

/// The output model of tasks that answer with a sequence: it writes a word after another, and
/// attends to what was read.
class SequenceDecoder : public torch::nn::Module {
 public:
  /// Teacher forcing. `previous` [B, T] holds the words before each place, 0 first; `lengths` [B].
  /// [B, T, width]: what `logits` tells the word at each place from.
  virtual Tensor forward(const Input& memory, const Tensor& previous, const Tensor& lengths,
                         Trace& trace) = 0;
  /// [M, width] → [M, words].
  virtual Tensor logits(const Tensor& states) = 0;
  /// The cross-entropy of the words `right` [M], [M]; `smoothing` is spread over all words.
  virtual Tensor losses(const Tensor& states, const Tensor& right, double smoothing) = 0;
  /// Writes a word at a time, `width` sequences for each entry of the memory. The decoder must
  /// outlive it.
  virtual std::unique_ptr<Stepper> start(const Input& memory, std::int64_t width) = 0;
  virtual std::vector<WiringStep> wiring() const = 0;
};

std::shared_ptr<SequenceDecoder> make_gru_decoder(const DecoderProblem& problem);
std::shared_ptr<SequenceDecoder> make_transformer_decoder(const DecoderProblem& problem);

/// The entries of the registry.
std::vector<PartInfo> output_models();

}  // namespace heed
