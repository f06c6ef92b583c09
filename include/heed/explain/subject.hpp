#pragma once
#include <span>
#include <string>
#include <vector>

#include "heed/models/label_model.hpp"

namespace heed::explain {

/// A batch as a model saw it.
struct Seen {
  Batch batch;
  Inputs features;             // all that attention sees, with the query
  Tensor probabilities;        // [B, C]
  std::vector<TraceMap> all;   // of every attention module
  std::vector<TraceMap> maps;  // of those that attend to the input under examination
};

/// A trained model that chooses labels, and the one of its inputs that is under examination. All
/// it does is deterministic at a thread count.
class Subject {
 public:
  /// `input`: when empty, the first that attention looks at in `sample`. InputError for models of
  /// other tasks. The run must outlive it.
  Subject(const LoadedRun& run, const Example& sample, std::string input = "");

  const LoadedRun& run() const { return *run_; }
  LabelModel& model() const { return *model_; }
  const std::string& input() const { return input_; }
  const std::vector<std::string>& labels() const { return run_->info.labels; }

  /// Runs the model, without gradients.
  Seen look(std::span<const Example> examples, std::span<const std::size_t> indices) const;
  Seen look(Batch batch) const;

  /// The probabilities alone, [N, C], in the examples' order.
  Tensor answers(std::span<const Example> examples) const;

  /// The probabilities when the modules in `seen.maps` are made to use `weights`, one tensor a map,
  /// shaped as `given`; differentiable.
  Tensor probabilities(const Seen& seen, const std::vector<Tensor>& weights) const;

  /// What the maps say of each position of the input, [B, L]: the mean over heads and queries,
  /// summed over modules; a row a sentence counts by the sentence's own weight, and words of a view
  /// count at their place in the text.
  Tensor gather(const Seen& seen) const;
  /// How much each position is attended to: `gather`, each row summing to 1 where there is weight.
  Tensor attention(const Seen& seen) const;

  /// [B, …] which keys a map's rows may give weight to: the words there are, of their own sentence
  /// where a row stands for a sentence. Broadcasts to `given(map)`.
  Tensor support(const Batch& batch, const TraceMap& map) const;

 private:
  const LoadedRun* run_;
  std::shared_ptr<LabelModel> model_;
  std::string input_;
};

/// What `Trace::replace` takes to leave the output as it was: [B, H, Q, K], or [B, H, Q, K, D]
/// where each feature has weights of its own.
inline const Tensor& given(const TraceMap& map) {
  return map.features.defined() ? map.features : map.weights;
}

/// The examples in batches of similar length, by index.
std::vector<std::vector<std::size_t>> batches_of(std::span<const Example> examples,
                                                 std::size_t size = 64);

}  // namespace heed::explain
