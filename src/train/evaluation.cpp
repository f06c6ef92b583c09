#include "heed/train/evaluation.hpp"

#include <limits>
#include <numeric>

#include "train/rank_bytes.hpp"
#include "train/sharing.hpp"

namespace heed {

namespace {

/// [Q, K] the mean over heads.
Tensor mean_of_heads(const TraceMap& map) {
  return map.weights.flatten(0, -3).to(torch::kFloat64).mean(0);
}

/// The weight of each row of a map: that of the sentence it stands for, where a map over as many
/// keys as this one has rows says so; else all count alike.
Tensor row_weights(const std::vector<TraceMap>& maps, std::int64_t rows, std::int64_t keys) {
  for (const TraceMap& above : maps) {
    if (rows > 1 && rows != keys && above.weights.dim() >= 3 && above.weights.size(-1) == rows)
      return mean_of_heads(above).mean(0);
  }
  return torch::full({rows}, 1.0 / static_cast<double>(rows), torch::kFloat64);
}

/// [K] the mean over heads and rows.
Tensor weights_of_keys(const TraceMap& map, const std::vector<TraceMap>& maps) {
  const Tensor rows = mean_of_heads(map);
  return rows.t().mv(row_weights(maps, rows.size(0), rows.size(1)));
}

constexpr std::int64_t kMostFeatures = 20000;  // numbers of one map; more are not kept

/// The map of one entry of the batch, cut to its lengths.
TraceMap map_of_entry(const TraceMap& map, std::int64_t b) {
  TraceMap own = map;
  own.weights = map.entry(b).contiguous();
  own.features = Tensor();
  if (map.features.defined()) {
    TraceMap each = map;  // its axes come first, so it is cut as the weights are
    each.weights = map.features;
    const Tensor features = each.entry(b);
    if (features.numel() <= kMostFeatures) own.features = features.clone();
  }
  own.query_lengths = own.key_lengths = Tensor();
  return own;
}

using Indices = std::vector<std::size_t>;

// Words of a batch: 128 long documents at once would take more memory than learning from them.
constexpr std::size_t kPlacesAtOnce = std::size_t{1} << 15;

std::vector<Indices> evaluation_batches(const LoadedRun& run, std::span<const Example> examples,
                                        const EvaluateOptions& options) {
  std::vector<std::int64_t> lengths;
  for (const Example& example : examples) lengths.push_back(total_length(example));
  if (run.model->whole()) {
    return in_order_batches(lengths, std::max<std::size_t>(1, examples.size()));
  }
  return in_order_batches(lengths, options.batch, kPlacesAtOnce);
}

/// Which rank answers each batch. Batches are dealt whole: the bits of an answer may depend on who
/// else is in the batch.
std::vector<int> owners_of(const std::vector<Indices>& batches, std::span<const Example> examples,
                           int ranks) {
  std::vector<double> costs;
  for (const Indices& batch : batches)  // the last is the longest
    costs.push_back(static_cast<double>(batch.size()) *
                    static_cast<double>(1 + total_length(examples[batch.back()])));
  return deal(costs, ranks);
}

/// Adds the predictions of the other ranks.
void complete(Evaluation& result, const std::vector<Indices>& batches,
              const std::vector<int>& owners, dist::Group& group) {
  const auto places_of = [&](int rank) {
    Indices places;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      if (owners[i] == rank) places.insert(places.end(), batches[i].begin(), batches[i].end());
    }
    return places;
  };
  std::vector<Prediction> mine;
  for (const std::size_t place : places_of(group.rank())) mine.push_back(result.predictions[place]);
  const std::vector<std::string> all = group.gather(to_bytes(mine));
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == group.rank()) continue;
    std::vector<Prediction> theirs = predictions_from(all[static_cast<std::size_t>(rank)]);
    const Indices places = places_of(rank);
    for (std::size_t i = 0; i < places.size(); ++i)
      result.predictions[places[i]] = std::move(theirs.at(i));
  }
}

}  // namespace

std::vector<double> token_weights(const Prediction& prediction, const Example& example,
                                  const std::string& input, std::size_t tokens) {
  const auto keys = static_cast<std::int64_t>(tokens);
  const TraceMap* found = nullptr;
  Tensor placed;  // what views of the input get
  for (const TraceMap& map : prediction.maps) {
    if (map.weights.dim() < 3 || map.weights.numel() == 0) continue;
    const auto view = example.views.find(map.key_input);
    if (view != example.views.end() && view->second.of == input) {
      const auto [of, begin, end] = view->second;
      if (map.weights.size(-1) != static_cast<std::int64_t>(end - begin) || end > tokens) continue;
      if (!placed.defined()) placed = torch::zeros({keys}, torch::kFloat64);
      placed.slice(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)) +=
          weights_of_keys(map, prediction.maps);
      continue;
    }
    if (map.weights.size(-1) != keys) continue;
    if (!found || (map.key_input == input && found->key_input != input)) found = &map;
  }
  if (!found && !placed.defined()) return {};
  const bool by_views = placed.defined() && (!found || found->key_input != input);
  const Tensor mean =
      (by_views ? placed / placed.sum().clamp_min(1e-12) : weights_of_keys(*found, prediction.maps))
          .contiguous();
  return {mean.data_ptr<double>(), mean.data_ptr<double>() + mean.numel()};
}

Reply answer_batch(const LoadedRun& run, const Batch& batch, Trace& trace) {
  Reply reply = run.model->answer(batch, trace);
  for (std::size_t row = 0; row < reply.predictions.size(); ++row) {
    for (const TraceMap& map : trace.maps())
      reply.predictions[row].maps.push_back(map_of_entry(map, static_cast<std::int64_t>(row)));
  }
  return reply;
}

Evaluation evaluate(const LoadedRun& run, std::span<const Example> examples,
                    const EvaluateOptions& options, dist::Group& group) {
  torch::NoGradGuard no_grad;
  run.model->eval();
  run.model->answer_quickly(options.quick);
  Evaluation result;
  result.predictions.resize(examples.size());
  const std::vector<Indices> batches = evaluation_batches(run, examples, options);
  const std::vector<int> owners = owners_of(batches, examples, group.size());
  std::vector<double> losses(batches.size());  // of each batch; NaN: an answer is missing
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (owners[i] != group.rank()) continue;
    const Batch batch = collate(examples, batches[i], run.info);
    Trace trace = options.weights ? Trace::recording() : Trace();
    Reply reply = answer_batch(run, batch, trace);
    losses[i] = reply.losses.defined() ? reply.losses.sum().item<double>()
                                       : std::numeric_limits<double>::quiet_NaN();
    for (std::size_t row = 0; row < batches[i].size(); ++row)
      result.predictions[batches[i][row]] = std::move(reply.predictions[row]);
  }
  if (group.size() > 1) {
    group.sum(losses)->wait();  // one rank gave each, the others 0
    complete(result, batches, owners, group);
  }
  // Added in order, so that it does not depend on who had which.
  result.loss = examples.empty() ? std::numeric_limits<double>::quiet_NaN()
                                 : std::accumulate(losses.begin(), losses.end(), 0.0) /
                                       static_cast<double>(examples.size());
  return result;
}

}  // namespace heed
