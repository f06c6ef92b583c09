#include "heed/train/evaluation.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "heed/base/error.hpp"
#include "heed/metrics/classification.hpp"
#include "heed/metrics/rationale.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::int64_t> lengths_of(std::span<const Example> examples) {
  std::vector<std::int64_t> lengths;
  for (const Example& example : examples)
    lengths.push_back(static_cast<std::int64_t>(example.inputs.at("text").size()));
  return lengths;
}

std::vector<float> to_vector(const Tensor& row) {
  const Tensor flat = row.to(torch::kFloat32).contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

void add_rationale_metrics(std::span<const Example> examples, const Evaluation& evaluation,
                           std::vector<metrics::Metric>& result) {
  std::vector<metrics::Weights> weights, gold;
  std::vector<metrics::Marks> marks;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const auto human = examples[i].gold.find("text");
    if (human == examples[i].gold.end()) continue;
    metrics::Weights found = token_weights(evaluation.predictions[i], human->second.size());
    if (found.empty()) continue;
    weights.push_back(std::move(found));
    gold.emplace_back(human->second.begin(), human->second.end());
    metrics::Marks marked;
    for (const float weight : human->second) marked.push_back(weight > 0);
    marks.push_back(std::move(marked));
  }
  if (weights.empty()) return;
  result.push_back(metrics::correctness(weights, gold));
  result.push_back(metrics::auprc(weights, marks));
}

}  // namespace

std::vector<double> token_weights(const Prediction& prediction, std::size_t tokens) {
  for (const TraceMap& map : prediction.maps) {
    if (map.weights.size(-1) != static_cast<std::int64_t>(tokens)) continue;
    const Tensor mean = map.weights.flatten(0, -2).to(torch::kFloat64).mean(0).contiguous();
    return {mean.data_ptr<double>(), mean.data_ptr<double>() + mean.numel()};
  }
  return {};
}

Evaluation evaluate(const LoadedRun& run, std::span<const Example> examples,
                    const EvaluateOptions& options) {
  torch::NoGradGuard no_grad;
  run.model->eval();
  Evaluation result;
  result.predictions.resize(examples.size());
  double loss = 0;
  bool labelled = !examples.empty();
  for (const auto& indices : in_order_batches(lengths_of(examples), options.batch)) {
    const Batch batch = collate(examples, indices, run.vocabulary, run.labels);
    Trace trace = options.weights ? Trace::recording() : Trace();
    const Tensor logits = run.model->forward(batch, trace);
    const Tensor probabilities = torch::softmax(logits, 1);
    if (batch.labels.defined()) {
      loss +=
          torch::cross_entropy_loss(logits, batch.labels, {}, at::Reduction::Sum).item<double>();
    } else {
      labelled = false;
    }
    const Tensor best = probabilities.argmax(1);
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const auto b = static_cast<std::int64_t>(row);
      Prediction& prediction = result.predictions[indices[row]];
      prediction.label = static_cast<std::size_t>(best[b].item<std::int64_t>());
      prediction.probabilities = to_vector(probabilities[b]);
      for (const TraceMap& map : trace.maps()) {
        TraceMap own = map;
        own.weights = map.entry(b).contiguous();
        own.query_lengths = own.key_lengths = Tensor();
        prediction.maps.push_back(std::move(own));
      }
    }
  }
  result.loss = labelled ? loss / static_cast<double>(examples.size())
                         : std::numeric_limits<double>::quiet_NaN();
  return result;
}

std::vector<metrics::Metric> measure(const LoadedRun& run, std::span<const Example> examples,
                                     const Evaluation& evaluation) {
  std::vector<std::string> predicted, gold;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    HEED_CHECK(!examples[i].label.empty(), "example '{}' has no label to measure against",
               examples[i].id);
    predicted.push_back(run.labels.at(evaluation.predictions[i].label));
    gold.push_back(examples[i].label);
  }
  std::vector<metrics::Metric> result = {metrics::accuracy(predicted, gold),
                                         metrics::f1(predicted, gold, {.labels = run.labels})};
  add_rationale_metrics(examples, evaluation, result);
  return result;
}

std::string to_json_line(const LoadedRun& run, const Example& example,
                         const Prediction& prediction) {
  Json json{{"id", example.id}, {"inputs", example.inputs}};
  if (!prediction.maps.empty()) {
    Json maps = Json::array();
    for (const TraceMap& map : prediction.maps) {
      const auto name_or_null = [](const std::string& name) {
        return name.empty() ? Json() : Json(name);
      };
      Json data = Json::array();
      // Six digits are more than any picture shows, and halve the file.
      for (const float weight : to_vector(map.weights.flatten()))
        data.push_back(std::round(weight * 1e6) / 1e6);
      maps.push_back({{"name", map.name},
                      {"axes", map.axes},
                      {"query_input", name_or_null(map.query_input)},
                      {"key_input", name_or_null(map.key_input)},
                      {"shape", map.weights.sizes().vec()},
                      {"data", std::move(data)}});
    }
    json["maps"] = std::move(maps);
  }
  if (!example.label.empty()) {
    json["gold"] = {{"label", example.label}};
    if (!example.gold.empty()) json["gold"]["weights"] = example.gold;
  }
  json["prediction"] = {{"label", run.labels.at(prediction.label)},
                        {"probabilities", prediction.probabilities}};
  // Text that is not UTF-8 is refused by the readers; replace rather than throw if it gets here.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heed
