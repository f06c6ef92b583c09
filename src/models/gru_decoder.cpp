#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/rnn.h>

#include "heed/base/error.hpp"
#include "heed/mechanisms/attender.hpp"
#include "heed/mechanisms/dropout.hpp"
#include "heed/models/sequence_decoder.hpp"
#include "models/beam_search.hpp"
#include "models/decoder_words.hpp"

namespace heed {
namespace {

namespace nn = torch::nn;

/// Two GRUs. The first knows the words so far and asks; the second reads its state and the context.
/// What was attended to thus reaches later words by the second GRU alone, and in training no step
/// waits for another's attention: each layer runs over the whole sequence at once.
class GruDecoder : public SequenceDecoder {
 public:
  explicit GruDecoder(const DecoderProblem& p)
      : dim_(get<std::int64_t>(p.options, "state") > 0 ? get<std::int64_t>(p.options, "state")
                                                       : p.memory),
        dropout_(p.dropout),
        input_(p.input) {
    const std::int64_t word = get<std::int64_t>(p.options, "embedding") > 0
                                  ? get<std::int64_t>(p.options, "embedding")
                                  : dim_;
    words_ = register_module("words", Words(p.words, word, get<bool>(p.options, "tied")));
    attention_ =
        register_module("attention", Attender(MechanismProblem{.parts = p.parts}, dim_, p.memory));
    const std::int64_t context = attention_->output_dim();
    first_ = register_module("first", nn::GRU(nn::GRUOptions(word, dim_).batch_first(true)));
    second_ =
        register_module("second", nn::GRU(nn::GRUOptions(dim_ + context, dim_).batch_first(true)));
    begin_ = register_module("begin", nn::Linear(p.memory, 2 * dim_));
    deep_ = register_module("deep", nn::Linear(dim_ + context + word, word));
  }

  Tensor forward(const Input& memory, const Tensor& previous, const Tensor& lengths,
                 Trace& trace) override {
    Tensor states = begin(memory);
    const auto attend = [&](const Tensor& asks) {
      const Input query{.data = asks, .lengths = lengths, .name = "target"};
      return attention_->attend({.query = query, .keys = memory}, trace["attention"]);
    };
    return write(previous, states, attend);
  }

  /// words [rows, T], states [2, rows, dim] → [rows, T, width]; the states are moved on.
  template <class Attend>
  Tensor write(const Tensor& words, Tensor& states, const Attend& attend) {
    const Tensor vectors = drop(words_->vectors(words));
    auto [asks, one] = first_->forward(vectors, states.narrow(0, 0, 1).contiguous());
    const Tensor context = attend(asks);
    auto [knows, two] = second_->forward(torch::cat({drop(asks), context}, -1),
                                         states.narrow(0, 1, 1).contiguous());
    states = torch::cat({one, two}, 0);
    return drop(torch::tanh(deep_->forward(torch::cat({knows, context, vectors}, -1))));
  }

  Tensor begin(const Input& memory) {
    const Tensor both = torch::tanh(begin_->forward(mean(memory)));
    return both.view({-1, 2, dim_}).transpose(0, 1).contiguous();
  }

  Tensor logits(const Tensor& states) override { return words_->logits(states); }
  Tensor losses(const Tensor& states, const Tensor& right, double smoothing) override {
    return words_->losses(states, right, smoothing);
  }
  std::unique_ptr<Stepper> start(const Input& memory, std::int64_t width) override;
  std::vector<WiringStep> wiring() const override {
    return {{"attention", "the first GRU's state", input_, "c_t"},
            {"", "", "", "word t from the second GRU of [s_t; c_t]"}};
  }
  Attender& attention() { return attention_; }

 private:
  Tensor drop(const Tensor& x) const { return drop_features(x, dropout_, is_training()); }

  std::int64_t dim_;
  double dropout_;
  std::string input_;
  Words words_{nullptr};
  Attender attention_{nullptr};
  nn::GRU first_{nullptr}, second_{nullptr};
  nn::Linear begin_{nullptr}, deep_{nullptr};
};

class GruStepper : public Stepper {
 public:
  GruStepper(GruDecoder& decoder, const Input& memory, std::int64_t width)
      : decoder_(decoder),
        memory_(memory),
        states_(decoder.begin(memory).repeat_interleave(width, 1)) {}

  Step step(const Tensor& words, bool attention) override {
    Trace trace = attention ? Trace::recording() : Trace();
    const std::int64_t B = memory_.data.size(0), rows = words.size(0);
    const auto attend = [&](const Tensor& asks) {
      const Input query{.data = asks.view({B, rows / B, -1}), .lengths = {}, .name = "target"};
      return decoder_.attention()
          ->attend({.query = query, .keys = memory_}, trace["attention"])
          .view({rows, 1, -1});
    };
    const Tensor state = decoder_.write(words.unsqueeze(1), states_, attend).squeeze(1);
    Step step{.logp = torch::log_softmax(decoder_.logits(state), -1), .attention = {}};
    if (attention) step.attention = trace.maps().back().weights.mean(1).flatten(0, 1);
    return step;
  }
  void reorder(const Tensor& index) override { states_ = states_.index_select(1, index); }

 private:
  GruDecoder& decoder_;
  Input memory_;
  Tensor states_;
};

std::unique_ptr<Stepper> GruDecoder::start(const Input& memory, std::int64_t width) {
  return std::make_unique<GruStepper>(*this, memory, width);
}

}  // namespace

std::shared_ptr<SequenceDecoder> make_gru_decoder(const DecoderProblem& problem) {
  return std::make_shared<GruDecoder>(problem);
}

}  // namespace heed
