#pragma once
#include "heed/mechanisms/pointer.hpp"
#include "heed/models/encoder.hpp"
#include "heed/models/task_model.hpp"

namespace heed {

/// Tasks that answer with an order of places in the input: features, and a pointer network.
///
/// The losses are weighed so that their mean over a batch is the mean over its places and ends.
/// Answers come from beam search, or, while it trains, from greedy search.
class PointModel : public TaskModel {
 public:
  PointModel(const Config& config, const DataInfo& info);

  Tensor losses(const Batch& batch, Trace& trace) override;
  Reply answer(const Batch& batch, Trace& trace) override;
  const Mechanism& attention() const override { return *wiring_; }
  double answers_in(const Example& example) const override {
    return static_cast<double>(example.target.size() + 1);  // and the end
  }
  void answer_quickly(bool quickly) override { quickly_ = quickly; }

 private:
  Tensor losses_of(const Input& keys, const Batch& batch, double smoothing);
  void trace_answers(const Input& keys, const Tensor& places, Trace& trace);

  std::string input_;
  Encoder encoder_{nullptr};
  Pointer pointer_{nullptr};
  std::shared_ptr<Mechanism> wiring_;
  double smoothing_;
  std::int64_t beam_;
  bool quickly_ = false;
};

}  // namespace heed
