#include "serve/live_run.hpp"

#include <algorithm>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/json_text.hpp"
#include "heed/base/words.hpp"
#include "heed/data/fields.hpp"
#include "heed/data/split.hpp"
#include "heed/models/label_model.hpp"
#include "heed/train/evaluation.hpp"
#include "heed/train/trace_json.hpp"
#include "report/parts_json.hpp"
#include "serve/edits.hpp"

namespace heed::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kExamples = 50;             // to start from
constexpr std::int64_t kMostWeights = 1'000'000;  // of one answer: about 10 MB of JSON

/// What a person types; empty where the examples are no text.
std::vector<std::string> live_fields(const LoadedRun& run) {
  const std::string& kind = run.config.task.source.kind;
  const std::int64_t readable = kind == "point" ? 2 : 0;  // numbers a position: x and y
  const bool typed = std::ranges::all_of(
      run.info.inputs, [&](const InputInfo& input) { return input.width == readable; });
  return typed ? text_fields(kind) : std::vector<std::string>();
}

/// An input of a recorded example as it would be typed: a line a sentence, or a point.
std::string as_typed(const Json& trace, const std::string& field, const Segmenter* segmenter) {
  const auto words = trace["inputs"].value(field, std::vector<std::string>());
  if (field == "points") return join(words, "\n");
  const Json levels = trace.value("levels", Json::object());
  const auto sizes =
      levels.value(field, std::vector<std::size_t>{words.size()});  // one sentence, or none known
  std::vector<std::string> lines;
  auto rest = std::span(words);
  for (const std::size_t size : sizes) {
    lines.push_back(written(rest.first(std::min(size, rest.size())), segmenter));
    rest = rest.subspan(std::min(size, rest.size()));
  }
  return join(lines, "\n");
}

/// Recorded examples of the test part, as they would be typed.
Json starting_points(const LoadedRun& run, const RunFiles& files,
                     const std::vector<std::string>& fields, Json& maps) {
  Json examples = Json::array();
  if (!std::filesystem::exists(files.traces())) return examples;
  for (const std::string& line : split(read_file(files.traces()), '\n')) {
    if (line.empty() || examples.size() == kExamples) continue;
    const Json trace = Json::parse(shallow_json(line), nullptr, /*allow_exceptions=*/false);
    HEED_CHECK(trace.is_object() && trace.contains("inputs") && trace.contains("id"),
               "{}: damaged: a JSON object with id and inputs is needed on every line",
               files.traces().string());
    Json texts = Json::object();
    for (const std::string& field : fields)
      texts[field] = as_typed(trace, field, run.info.segmenter.get());
    examples.push_back({{"id", trace["id"]}, {"inputs", std::move(texts)}});
    if (trace.contains("gold") && trace["gold"].contains("label"))
      examples.back()["label"] = trace["gold"]["label"];
    if (examples.size() > 1 || !trace.contains("maps")) continue;
    for (const Json& map : trace["maps"])
      maps.push_back({{"name", map["name"]},
                      {"axes", map["axes"]},
                      {"query_input", map["query_input"]},
                      {"key_input", map["key_input"]}});
  }
  return examples;
}

Json describe(const std::string& name, const LoadedRun& run, const RunFiles& files, bool editable) {
  const std::vector<std::string> fields = live_fields(run);
  const PartInfo& mechanism = registry().find(Group::mechanism, run.config.attention.mechanism.id);
  Json maps = Json::array();
  Json examples = starting_points(run, files, fields, maps);
  return {{"name", name},
          {"kind", run.config.task.source.kind},
          {"inputs", fields},
          {"labels", run.info.labels},
          {"mechanism", {{"id", mechanism.id}, {"title", mechanism.title}}},
          {"parts", parts_json(run.config)},
          {"maps", std::move(maps)},
          {"editable", editable},
          {"examples", std::move(examples)}};
}

/// Takes out the maps that would make the answer too large; their names.
Json without_large(Prediction& prediction) {
  Json left_out = Json::array();
  std::int64_t total = 0;
  std::erase_if(prediction.maps, [&](const TraceMap& map) {
    total += map.weights.numel();
    if (total <= kMostWeights) return false;
    total -= map.weights.numel();
    left_out.push_back(map.name);
    return true;
  });
  return left_out;
}

}  // namespace

LiveRun::LiveRun(const std::filesystem::path& folder, std::string name, std::size_t max_tokens)
    : folder_(folder),
      name_(std::move(name)),
      max_tokens_(max_tokens),
      run_(load(folder)),
      editable_(std::dynamic_pointer_cast<LabelModel>(run_.model) != nullptr) {
  run_.model->eval();
  description_ = describe(name_, run_, RunFiles{folder}, editable_);
}

Example LiveRun::example_of(const PredictRequest& request) {
  if (request.id.empty()) {
    HEED_CHECK(!live_fields(run_).empty(),
               "run '{}' reads no text (kind '{}'); give the 'id' of an example of its test part",
               name_, run_.config.task.source.kind);
    std::size_t words = 0;
    for (const auto& [field, text] : request.fields) words += split_words(text).size();
    HEED_CHECK(words <= max_tokens_,
               "inputs: {} words, at most {} are read at once; shorten the text, or start the "
               "server with a larger --max-tokens",
               words, max_tokens_);
    return run_.info.seen({read_fields(run_.config.task.source, run_.info.inputs, request.fields)})
        .front();
  }
  if (!test_) test_ = run_.info.seen(load_split(run_.config.task.source, "test", name_));
  const auto found = std::ranges::find(*test_, request.id, &Example::id);
  HEED_CHECK(found != test_->end(), "id: the test part of run '{}' has no example '{}'", name_,
             request.id);
  return *found;
}

Prediction LiveRun::ask(const Example& example,
                        const std::map<std::string, Tensor>& replacements) const {
  const torch::NoGradGuard no_grad;
  const std::size_t first = 0;
  Trace trace = Trace::recording();
  for (const auto& [name, weights] : replacements) trace.replace(name, weights);
  Reply reply = answer_batch(run_, collate({&example, 1}, {&first, 1}, run_.info), trace);
  return std::move(reply.predictions.front());
}

Json LiveRun::predict(const PredictRequest& request) {
  HEED_CHECK(editable_ || !request.edits_weights(),
             "run '{}' (kind '{}') chooses no label: its weights can be looked at, not edited",
             name_, run_.config.task.source.kind);
  const Example whole = example_of(request);
  const Example example = dropped(whole, request.drop);
  Prediction prediction = ask(example);
  if (request.edits_weights()) {
    const Json shown = trace_json(run_, example, prediction, Digits::six);
    prediction = ask(example, edited_weights(request, example, prediction.maps, shown));
  }
  Json left_out = without_large(prediction);
  Json result = trace_json(run_, example, prediction, Digits::all);
  if (request.edits())
    result["without"] = trace_json(run_, whole, ask(whole), Digits::six)["prediction"];
  if (!left_out.empty()) result["left_out"] = std::move(left_out);
  return result;
}

}  // namespace heed::serve
