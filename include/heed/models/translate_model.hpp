#pragma once
#include "heed/models/encoder.hpp"
#include "heed/models/sequence_decoder.hpp"
#include "heed/models/task_model.hpp"

namespace heed {

/// Tasks that answer with a sequence of words: features, and a decoder that attends to them.
///
/// The losses are weighed so that their mean over a batch is the mean over its words and ends.
/// Answers come from beam search, or, while it trains, from greedy search.
class TranslateModel : public TaskModel {
 public:
  TranslateModel(const Config& config, const DataInfo& info);

  Tensor losses(const Batch& batch, Trace& trace) override;
  Reply answer(const Batch& batch, Trace& trace) override;
  const Mechanism& attention() const override { return *wiring_; }
  double answers_in(const Example& example) const override {
    return static_cast<double>(example.target.size() + 1);  // and the end
  }
  void answer_quickly(bool quickly) override { quickly_ = quickly; }

  SequenceDecoder& decoder() { return *decoder_; }
  /// What the decoder reads.
  Input memory(const Batch& batch);

 private:
  struct Told {
    Tensor losses;    // of each word and end of the right answers, [M]
    Tensor examples;  // [M]: whose
  };
  Told tell(const Batch& batch, const Input& memory, double smoothing, Trace& trace);
  Tensor per_example(const Told& told, std::int64_t examples) const;
  void trace_answers(const Input& memory, const std::vector<Prediction>& predictions, Trace& trace);

  std::string input_;
  Vocabulary vocabulary_;
  Encoder encoder_{nullptr};
  std::shared_ptr<SequenceDecoder> decoder_;
  std::shared_ptr<Mechanism> wiring_;
  double smoothing_;
  std::int64_t beam_;
  double length_penalty_, coverage_penalty_;
  bool quickly_ = false;
};

}  // namespace heed
