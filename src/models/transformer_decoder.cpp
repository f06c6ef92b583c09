#include "heed/base/error.hpp"
#include "heed/mechanisms/dropout.hpp"
#include "heed/mechanisms/transformer.hpp"
#include "heed/models/sequence_decoder.hpp"
#include "models/beam_search.hpp"
#include "models/decoder_words.hpp"

namespace heed {
namespace {

class TransformerWriter : public SequenceDecoder {
 public:
  explicit TransformerWriter(const DecoderProblem& p)
      : layers_(get<std::int64_t>(p.options, "layers")), dropout_(p.dropout), input_(p.input) {
    AttentionSpec parts = p.parts;
    parts.queries = {"multi-head", {{"heads", get<std::int64_t>(p.options, "heads")}}};
    if (parts.position.id == "none") parts.position = "sinusoidal";  // or words would have no order
    words_ = register_module("words", Words(p.words, p.memory, get<bool>(p.options, "tied")));
    decoder_ =
        register_module("decoder", TransformerDecoder(TransformerOptions{
                                       .parts = parts,
                                       .dim = p.memory,
                                       .layers = layers_,
                                       .ffn = get<std::int64_t>(p.options, "ffn"),
                                       .act = get<std::string>(p.options, "act"),
                                       .norm_first = get<std::string>(p.options, "norm") == "pre",
                                       .dropout = dropout_}));
  }

  Tensor forward(const Input& memory, const Tensor& previous, const Tensor& lengths,
                 Trace& trace) override {
    return decoder_->forward({.data = vectors(previous), .lengths = lengths, .name = "target"},
                             memory, trace["decoder"]);
  }

  Tensor vectors(const Tensor& words) const {
    return drop_features(words_->vectors(words), dropout_, is_training());
  }
  Tensor logits(const Tensor& states) override { return words_->logits(states); }
  Tensor losses(const Tensor& states, const Tensor& right, double smoothing) override {
    return words_->losses(states, right, smoothing);
  }
  std::unique_ptr<Stepper> start(const Input& memory, std::int64_t width) override;
  TransformerDecoder& decoder() { return decoder_; }

  std::vector<WiringStep> wiring() const override {
    std::vector<WiringStep> steps;
    std::string below = "target";
    for (std::int64_t l = 1; l <= layers_; ++l) {
      const std::string slot = fmt::format("decoder/layer {}/", l), self = fmt::format("s_{}", l);
      steps.push_back({slot + "self", below, below, self});
      steps.push_back({slot + "memory", self, input_, fmt::format("x_{}", l)});
      below = steps.back().output;
    }
    steps.push_back({"", "", "", "word t from " + below});
    return steps;
  }

 private:
  std::int64_t layers_;
  double dropout_;
  std::string input_;
  Words words_{nullptr};
  TransformerDecoder decoder_{nullptr};
};

class TransformerStepper : public Stepper {
 public:
  TransformerStepper(TransformerWriter& writer, Input memory)
      : writer_(writer), memory_(std::move(memory)) {}

  Step step(const Tensor& words, bool attention) override {
    Trace trace = attention ? Trace::recording() : Trace();
    const Tensor state = writer_.decoder()->step(writer_.vectors(words.unsqueeze(1)), memory_,
                                                 kept_, trace["decoder"]);
    Step step{.logp = torch::log_softmax(writer_.logits(state.squeeze(1)), -1), .attention = {}};
    // What the last layer looked at.
    if (attention) step.attention = trace.maps().back().weights.mean(1).flatten(0, 1);
    return step;
  }
  void reorder(const Tensor& index) override {
    for (Tensor& layer : kept_) layer = layer.index_select(0, index);
  }

 private:
  TransformerWriter& writer_;
  Input memory_;
  std::vector<Tensor> kept_;
};

std::unique_ptr<Stepper> TransformerWriter::start(const Input& memory, std::int64_t) {
  return std::make_unique<TransformerStepper>(*this, memory);
}

}  // namespace

std::shared_ptr<SequenceDecoder> make_transformer_decoder(const DecoderProblem& problem) {
  return std::make_shared<TransformerWriter>(problem);
}

}  // namespace heed
