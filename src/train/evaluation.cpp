#include "heed/train/evaluation.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "heed/base/error.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;

std::vector<float> to_vector(const Tensor& row) {
  const Tensor flat = row.to(torch::kFloat32).contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
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
  run.model->answer_quickly(options.quick);
  Evaluation result;
  result.predictions.resize(examples.size());
  std::vector<std::int64_t> lengths;
  for (const Example& example : examples) lengths.push_back(total_length(example));
  double loss = 0;
  bool known = !examples.empty();
  const std::size_t size =
      run.model->whole() ? std::max<std::size_t>(1, examples.size()) : options.batch;
  for (const auto& indices : in_order_batches(lengths, size)) {
    const Batch batch = collate(examples, indices, run.info);
    Trace trace = options.weights ? Trace::recording() : Trace();
    Reply reply = run.model->answer(batch, trace);
    known = known && reply.losses.defined();
    if (known) loss += reply.losses.sum().item<double>();
    for (std::size_t row = 0; row < indices.size(); ++row) {
      Prediction& prediction = result.predictions[indices[row]];
      prediction = std::move(reply.predictions[row]);
      for (const TraceMap& map : trace.maps()) {
        TraceMap own = map;
        own.weights = map.entry(static_cast<std::int64_t>(row)).contiguous();
        own.query_lengths = own.key_lengths = Tensor();
        prediction.maps.push_back(std::move(own));
      }
    }
  }
  result.loss = known ? loss / static_cast<double>(examples.size())
                      : std::numeric_limits<double>::quiet_NaN();
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
    // Rows of maps that are asked by what was written: its words, then the end.
    if (!prediction.sequence.empty()) {
      json["inputs"]["target"] = prediction.sequence;
      json["inputs"]["target"].push_back("</s>");
    }
  }
  Json& gold = json["gold"];
  if (!example.label.empty()) gold["label"] = example.label;
  if (!example.target.empty()) gold["sequence"] = example.target;
  if (!gold.is_null() && !example.gold.empty()) gold["weights"] = example.gold;
  if (gold.is_null()) json.erase("gold");
  if (!prediction.probabilities.empty()) {
    json["prediction"] = {{"label", run.info.labels.at(prediction.label)},
                          {"probabilities", prediction.probabilities}};
  } else if (!prediction.sequence.empty() || !example.target.empty()) {
    json["prediction"] = {{"sequence", prediction.sequence}};
  } else {
    json["prediction"] = {{"number", prediction.number}};
  }
  // Text that is not UTF-8 is refused by the readers; replace rather than throw if it gets here.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heed
