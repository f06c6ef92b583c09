// Predictions and weights as JSON, for the report, for programs and for the live page.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "heed/base/base64.hpp"
#include "heed/base/words.hpp"
#include "heed/train/evaluation.hpp"
#include "heed/train/trace_json.hpp"
#include "train/trace_shapes.hpp"

namespace heed {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

/// What stands at each position of the inputs, in words. Attention may be over something coarser
/// than the words it was given (sentences, patches of a picture): that is an input of its own.
class ShownInputs {
 public:
  ShownInputs(const DataInfo& info, const Example& example)
      : example_(example), inputs_(example.inputs) {
    for (const auto& [name, view] : example.views) {
      const auto whole = example.inputs.find(view.of);
      if (whole == example.inputs.end()) continue;
      const auto first = whole->second.begin();
      inputs_[name] = {first + static_cast<std::ptrdiff_t>(view.begin),
                       first + static_cast<std::ptrdiff_t>(view.end)};
    }
    for (const InputInfo& input : info.inputs) {
      const auto values = example.values.find(input.name);
      if (values != example.values.end() && values->second.width <= kShown && input.grid.empty())
        inputs_[input.name] = positions(values->second);
    }
  }

  void add(const std::string& name, Words words) { inputs_[name] = std::move(words); }
  bool has(const std::string& name) const { return inputs_.contains(name); }
  std::size_t length(const std::string& name) const {
    return has(name) ? inputs_.at(name).size() : 0;
  }

  /// The input with so many positions that a map calls `name`; "" stays "".
  std::string name_of(const std::string& name, std::size_t count) {
    if (name.empty() || length(name) == count) return name;
    const auto levels = example_.levels.find(name);
    const bool runs = levels != example_.levels.end() && !levels->second.empty() &&
                      levels->second[0].size() == count;
    if (!has(name) && !runs) {
      inputs_[name] = numbered(count);
      return name;
    }
    const bool sentences = runs && example_.inputs.contains(name);
    const std::string shown = name + (sentences ? " (sentences)" : runs ? " (frames)" : " (parts)");
    if (!has(shown)) inputs_[shown] = sentences ? sentences_of(name) : numbered(count);
    return length(shown) == count ? shown : "";
  }

  /// The input whose sentences these are; "" when none has so many.
  std::string in_sentences(std::size_t count) const {
    for (const auto& [name, levels] : example_.levels) {
      if (count > 1 && !levels.empty() && levels[0].size() == count) return name;
    }
    return "";
  }

  Json to_json() const { return inputs_; }

 private:
  static constexpr std::int64_t kShown = 3;  // numbers; of more, the place alone is told

  static Words numbered(std::size_t count) {
    Words words;
    for (std::size_t i = 1; i <= count; ++i) words.push_back(std::to_string(i));
    return words;
  }

  static Words positions(const Values& values) {
    Words words;
    for (std::size_t i = 0; i < values.length(); ++i) {
      Words numbers;
      for (std::int64_t k = 0; k < values.width; ++k)
        numbers.push_back(fmt::format(
            "{:.2f}",
            values.data[i * static_cast<std::size_t>(values.width) + static_cast<std::size_t>(k)]));
      words.push_back(join(numbers, " "));
    }
    return words;
  }

  Words sentences_of(const std::string& name) const {
    Words sentences;
    auto word = example_.inputs.at(name).begin();
    for (const std::int64_t length : example_.levels.at(name)[0]) {
      sentences.push_back(join(Words(word, word + length), " "));
      word += length;
    }
    return sentences;
  }

  const Example& example_;
  std::map<std::string, Words> inputs_;
};

constexpr std::int64_t kMostNumbers = 20000;

/// The shortest decimal that is this float again: as a double it would have twice the digits.
double shortest(float value) {
  const std::string text = fmt::format("{}", value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

/// Row by row.
Json numbers_json(const Tensor& numbers, Digits digits) {
  const Tensor flat = numbers.flatten().to(torch::kFloat32).contiguous();
  Json data = Json::array();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const float number = flat.data_ptr<float>()[i];
    data.push_back(digits == Digits::all ? shortest(number) : std::round(number * 1e6) / 1e6);
  }
  return data;
}

/// Large maps are written as bytes: the square root, which is fine near 0, in 255 steps.
void add_weights(Json& json, const Tensor& weights, Digits digits) {
  if (digits == Digits::all || weights.numel() <= kMostNumbers) {
    json["data"] = numbers_json(weights, digits);
    return;
  }
  const Tensor positive = weights.to(torch::kFloat32).nan_to_num(0).clamp_min(0).flatten();
  const auto most = std::max(positive.max().item<float>(), 1e-30f);
  const Tensor bytes = (positive / most).sqrt().mul(255).round().to(torch::kUInt8).contiguous();
  const auto* first = reinterpret_cast<const char*>(bytes.data_ptr<std::uint8_t>());
  json["packed"] = base64({first, static_cast<std::size_t>(bytes.numel())});
  json["most"] = most;
}

Json map_json(const TraceMap& map, ShownInputs& inputs, Digits digits) {
  const auto shown = [&](const std::string& input, std::int64_t axis) {
    const auto count = static_cast<std::size_t>(map.weights.size(axis));
    const std::string name =
        inputs.name_of(input.empty() ? inputs.in_sentences(count) : input, count);
    return name.empty() ? Json() : Json(name);
  };
  const bool asked = map.weights.dim() >= 2;
  Json json{{"name", map.name},
            {"axes", map.axes},
            {"query_input", asked ? shown(map.query_input, -2) : Json()},
            {"key_input", shown(map.key_input, -1)},
            {"shape", map.weights.sizes().vec()}};
  add_weights(json, map.weights, digits);
  if (map.features.defined())
    json["features"] = {{"shape", map.features.sizes().vec()},
                        {"data", numbers_json(map.features, Digits::six)}};
  return json;
}

Json gold_json(const LoadedRun& run, const Example& example, const ShownInputs& inputs) {
  Json gold;
  if (run.config.task.source.kind == "count" && !std::isnan(example.number))
    gold["number"] = example.number;
  if (!example.label.empty()) gold["label"] = example.label;
  if (!example.target.empty()) {
    gold["sequence"] = example.target;
    if (example.label.empty()) gold["label"] = join(example.target, " ");
  }
  if (gold.is_null()) return gold;
  for (const auto& [name, weights] : example.gold) {
    if (inputs.length(name) == weights.size()) gold["weights"][name] = weights;
  }
  return gold;
}

/// Every answer has a label, which is what is shown; what it is made of comes beside it.
Json prediction_json(const LoadedRun& run, const Example& example, const Prediction& prediction) {
  if (!prediction.probabilities.empty())
    return {{"label", run.info.labels.at(prediction.label)},
            {"probabilities", prediction.probabilities}};
  if (!prediction.sequence.empty() || !example.target.empty()) {
    // Items are ranked: the first is the answer. The words of a text are all of it.
    const bool ranked = example.target.empty() && !example.label.empty();
    return {{"label", ranked ? prediction.sequence.front() : join(prediction.sequence, " ")},
            {"sequence", prediction.sequence}};
  }
  return {{"label", fmt::format("{:.4g}", prediction.number)}, {"number", prediction.number}};
}

}  // namespace

nlohmann::ordered_json trace_json(const LoadedRun& run, const Example& example,
                                  const Prediction& prediction, Digits digits) {
  ShownInputs inputs(run.info, example);
  // Rows of maps that are asked by what was written: its words, then the end.
  const bool asks = std::ranges::any_of(prediction.maps, [](const TraceMap& map) {
    return map.query_input == "target" || map.key_input == "target";
  });
  if (asks && !prediction.sequence.empty() && !example.views.contains("target")) {
    Words written = prediction.sequence;
    written.emplace_back("</s>");
    inputs.add("target", std::move(written));
  }
  Json maps = Json::array();
  for (const TraceMap& map : prediction.maps) maps.push_back(map_json(map, inputs, digits));
  Json json{{"id", example.id}, {"inputs", inputs.to_json()}};
  Json gold = gold_json(run, example, inputs);
  if (!maps.empty()) {
    json["maps"] = std::move(maps);
    if (!example.links.empty()) gold["links"] = example.links;
    add_shapes(json, run.info, example);
  }
  if (!gold.is_null()) json["gold"] = std::move(gold);
  json["prediction"] = prediction_json(run, example, prediction);
  return json;
}

std::string to_json_line(const LoadedRun& run, const Example& example,
                         const Prediction& prediction) {
  // Text that is not UTF-8 is refused by the readers; replace rather than throw if it gets here.
  return trace_json(run, example, prediction, Digits::six)
             .dump(-1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace heed
