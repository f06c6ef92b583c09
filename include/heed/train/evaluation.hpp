#pragma once
#include <span>
#include <string>
#include <vector>

#include "heed/dist/group.hpp"
#include "heed/metrics/metric.hpp"
#include "heed/models/task_model.hpp"

namespace heed {

struct EvaluateOptions {
  std::size_t batch = 128;
  bool weights = true;  // also look at the attention weights
  bool quick = false;   // answers may be rough, see TaskModel
};

struct Evaluation {
  std::vector<Prediction> predictions;  // in the order of the examples; maps only if asked for
  double loss = 0;                      // mean over examples; NaN when answers are missing
};

/// The model's answers to a batch, each with the maps that `trace` recorded, cut to its entry. The
/// caller has set the model to evaluation and gradients off.
Reply answer_batch(const LoadedRun& run, const Batch& batch, Trace& trace);

/// Runs the model in evaluation mode, without gradients. Deterministic at a thread count.
///
/// The ranks of a group share the batches, and all return the whole, with the bits of one process.
Evaluation evaluate(const LoadedRun& run, std::span<const Example> examples,
                    const EvaluateOptions& options = {}, dist::Group& group = dist::alone());

/// The weight of each of so many tokens of an input: the mean over heads and queries of the first
/// map that looks at it, where a row for each sentence counts by the sentence's own weight; else of
/// all maps that look at views of it, each word at its place; else of a map with as many keys. A
/// wiring may also weigh embeddings, sentences or its own contexts; empty: nothing else.
std::vector<double> token_weights(const Prediction& prediction, const Example& example,
                                  const std::string& input, std::size_t tokens);

/// What the kind of task is measured by: the first tells which epoch is best. Of labels accuracy
/// and macro F1; where the examples have gold attention and the model has weights, also
/// correctness (the share of weight on the rationale; its details are agreement with graded
/// weights) and AUPRC of `token_weights`, or of sentences where attention is over those. Where
/// every token of every example has the same gold weight, there is nothing to agree with.
std::vector<metrics::Metric> measure(const LoadedRun& run, std::span<const Example> examples,
                                     const Evaluation& evaluation);

/// False for errors and losses: less is better.
bool more_is_better(const metrics::Metric& metric);

/// One line of traces.jsonl or, without maps, of predictions.jsonl.
std::string to_json_line(const LoadedRun& run, const Example& example,
                         const Prediction& prediction);

}  // namespace heed
