#include "serve/edits.hpp"

#include <algorithm>
#include <cmath>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/explain/omit.hpp"

namespace heed::serve {
namespace {

using nlohmann::json;
using Keep = std::vector<bool>;

std::vector<std::string> word_inputs(const Example& example) {
  std::vector<std::string> names;
  for (const auto& [name, words] : example.inputs) names.push_back(name);
  for (const auto& [name, view] : example.views) names.push_back(name);
  for (const auto& [name, values] : example.values) names.push_back(name);
  return names;
}

void check_position(std::string_view what, const std::string& input, std::size_t position,
                    std::size_t length) {
  HEED_CHECK(position < length, "{}: position {} of '{}', which has {}; they count from 0", what,
             position, input, length);
}

/// What stays of each input when the positions are taken out; those of a view go from its text.
std::map<std::string, Keep> kept_positions(const Example& example, const Positions& drop) {
  std::map<std::string, Keep> kept;
  for (const auto& [input, positions] : drop) {
    const std::size_t length = input_length(example, input);
    const auto view = example.views.find(input);
    const bool known = example.inputs.contains(input) || example.values.contains(input) ||
                       view != example.views.end();
    HEED_CHECK(known, "drop: no input is called '{}'{}", input,
               suggestion(input, word_inputs(example)));
    const std::string from = view == example.views.end() ? input : view->second.of;
    const std::size_t start = view == example.views.end() ? 0 : view->second.begin;
    Keep& keep = kept.try_emplace(from, input_length(example, from), true).first->second;
    for (const std::size_t position : positions) {
      check_position("drop", input, position, length);
      keep[start + position] = false;
    }
  }
  return kept;
}

/// The masked positions of a map's keys: those of the input they are, and of a text they are a
/// part of.
Keep unmasked(const Positions& mask, const Example& example, const std::string& key_input,
              std::size_t keys) {
  Keep keep(keys, true);
  if (const auto own = mask.find(key_input); own != mask.end()) {
    for (const std::size_t position : own->second) {
      check_position("mask", key_input, position, keys);
      keep[position] = false;
    }
  }
  const auto view = example.views.find(key_input);
  if (view == example.views.end()) return keep;
  if (const auto whole = mask.find(view->second.of); whole != mask.end()) {
    for (const std::size_t position : whole->second) {
      if (position >= view->second.begin && position < view->second.end)
        keep[position - view->second.begin] = false;
    }
  }
  return keep;
}

/// [axes…] or, where each feature has weights of its own, [axes…, D].
Tensor own_weights(const TraceMap& map) {
  return (map.features.defined() ? map.features : map.weights).clone();
}

Tensor masked(const Tensor& weights, const Keep& keep, bool by_feature) {
  std::vector<float> factors;
  for (const bool stays : keep) factors.push_back(stays ? 1.0f : 0.0f);
  Tensor factor = torch::tensor(factors);
  if (by_feature) factor = factor.unsqueeze(-1);
  const std::int64_t axis = by_feature ? -2 : -1;
  const Tensor left = weights * factor;
  const Tensor share = weights.sum(axis, /*keepdim=*/true) / left.sum(axis, /*keepdim=*/true);
  return left * torch::where(share.isfinite(), share, 0.0);
}

/// The numbers in nested arrays, in order.
void collect(const json& value, const std::string& name, std::vector<float>& numbers) {
  if (value.is_array()) {
    for (const json& item : value) collect(item, name, numbers);
    return;
  }
  HEED_CHECK(value.is_number(), "replace: '{}' has a value of type {}; numbers are needed", name,
             value.type_name());
  const auto number = value.get<float>();
  HEED_CHECK(std::isfinite(number) && number >= 0,
             "replace: '{}' has {}; weights are finite and not negative", name, value.dump());
  numbers.push_back(number);
}

/// Arrays in arrays, of the sizes of the map's axes.
void check_nesting(const json& value, const std::string& name, at::IntArrayRef shape) {
  HEED_CHECK(value.is_array() && static_cast<std::int64_t>(value.size()) == shape.front(),
             "replace: '{}' is nested in another way than the axes of the map; give its shape, or "
             "one flat array",
             name);
  if (shape.size() == 1) return;
  for (const json& item : value) check_nesting(item, name, shape.slice(1));
}

Tensor normalised(const Tensor& weights) {
  const Tensor sum = weights.sum(-1, /*keepdim=*/true);
  return torch::where(sum > 0, weights / sum, weights);
}

/// Writes given weights, of one row or all, over those of the map.
class Rewriter {
 public:
  Rewriter(const TraceMap& map, Tensor weights, bool normalise)
      : name_(map.name),
        shape_(map.weights.sizes().vec()),
        by_feature_(map.features.defined()),
        normalise_(normalise),
        weights_(std::move(weights)) {}

  void apply(const json& given) {
    if (given.is_object()) return set_row(given);
    HEED_CHECK(given.is_array(), "replace: '{}' is of type {}; an array of weights is needed",
               name_, given.type_name());
    if (given.empty() || !given.front().is_object()) return set(weights_, given, shape_);
    for (const json& row : given) set_row(row);
  }
  Tensor result() const { return weights_.unsqueeze(0); }

 private:
  void set_row(const json& given) {
    HEED_CHECK(given.is_object() && given.contains("row") && given.contains("weights"),
               "replace: '{}' needs {{\"row\": […], \"weights\": […]}} for each row", name_);
    const json& row = given["row"];
    HEED_CHECK(row.is_array() && row.size() + 1 == shape_.size(),
               "replace: a row of '{}' is named by {} numbers", name_, shape_.size() - 1);
    Tensor target = weights_;
    for (std::size_t axis = 0; axis < row.size(); ++axis) {
      HEED_CHECK(row[axis].is_number_unsigned() &&
                     row[axis].get<std::size_t>() < static_cast<std::size_t>(shape_[axis]),
                 "replace: '{}' has rows 0 to {} on its axis {}, not {}", name_, shape_[axis] - 1,
                 axis, row[axis].dump());
      target = target.select(0, row[axis].get<std::int64_t>());
    }
    set(target, given["weights"], {shape_.back()});
  }

  void set(Tensor target, const json& given, const std::vector<std::int64_t>& shape) {
    const std::int64_t keys = shape.back();
    std::int64_t all = 1;
    for (const std::int64_t size : shape) all *= size;
    if (given.is_array() && !given.empty() && given.front().is_array())
      check_nesting(given, name_, shape);
    std::vector<float> numbers;
    collect(given, name_, numbers);
    const auto count = static_cast<std::int64_t>(numbers.size());
    HEED_CHECK(count == keys || count == all, "replace: '{}' has {} weights; needed are {}{}",
               name_, count, keys,
               all == keys ? "" : fmt::format(", for every row, or all {}", all));
    Tensor values = torch::tensor(numbers);
    if (count == all) values = values.view(shape);
    if (normalise_) values = normalised(values);
    target.copy_(by_feature_ ? values.unsqueeze(-1) : values);
  }

  std::string name_;
  std::vector<std::int64_t> shape_;
  bool by_feature_, normalise_;
  Tensor weights_;
};

void check_names(const PredictRequest& request, const std::vector<TraceMap>& maps,
                 const Positions& keys) {
  std::vector<std::string> names, inputs;
  for (const TraceMap& map : maps) names.push_back(map.name);
  for (const auto& [input, nothing] : keys) inputs.push_back(input);
  for (const auto& [name, given] : request.replace.items()) {
    HEED_CHECK(std::ranges::find(names, name) != names.end(), "replace: no map is called '{}'{}",
               name, suggestion(name, names));
  }
  for (const auto& [input, positions] : request.mask) {
    HEED_CHECK(keys.contains(input), "mask: nothing attends to an input '{}'{}", input,
               suggestion(input, inputs));
  }
}

}  // namespace

Example dropped(Example example, const Positions& drop) {
  for (const auto& [input, kept] : kept_positions(example, drop)) {
    HEED_CHECK(std::ranges::find(kept, true) != kept.end(),
               "drop: nothing would be left of '{}'; at least one position has to stay", input);
    example = explain::with_only(example, input, kept);
  }
  return example;
}

Replacements edited_weights(const PredictRequest& request, const Example& example,
                            const std::vector<TraceMap>& maps,
                            const nlohmann::ordered_json& shown) {
  Positions attended;  // the inputs that maps attend to, and the texts these are parts of
  std::vector<std::string> key_inputs;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const auto& name = shown.at("maps").at(i).at("key_input");
    key_inputs.push_back(name.is_string() ? name.get<std::string>() : "");
    if (key_inputs.back().empty()) continue;
    attended[key_inputs.back()];
    if (const auto view = example.views.find(key_inputs.back()); view != example.views.end())
      attended[view->second.of];
  }
  check_names(request, maps, attended);
  Replacements result;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const TraceMap& map = maps[i];
    Tensor weights = own_weights(map);
    const Keep keep = unmasked(request.mask, example, key_inputs[i],
                               static_cast<std::size_t>(map.weights.size(-1)));
    const bool masks = std::ranges::find(keep, false) != keep.end();
    const auto given = request.replace.find(map.name);
    if (!masks && given == request.replace.end()) continue;
    if (masks) weights = masked(weights, keep, map.features.defined());
    Rewriter rewriter(map, weights, request.normalise);
    if (given != request.replace.end()) rewriter.apply(*given);
    result[map.name] = rewriter.result();
  }
  return result;
}

}  // namespace heed::serve
