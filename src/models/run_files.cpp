// A run directory: what is saved of a model, and how it is read back.
#include <nlohmann/json.hpp>

#include <set>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/json_text.hpp"
#include "heed/data/safetensors.hpp"
#include "heed/models/task_model.hpp"

namespace heed {

using Json = nlohmann::ordered_json;

NamedTensors state_of(const torch::nn::Module& model) {
  NamedTensors tensors;
  for (const auto& items : {model.named_parameters(), model.named_buffers()}) {
    for (const auto& item : items) tensors.emplace_back(item.key(), item.value().detach());
  }
  return tensors;
}

void restore_state(torch::nn::Module& model, const std::map<std::string, Tensor>& tensors,
                   const std::string& source) {
  torch::NoGradGuard no_grad;
  std::set<std::string> names;
  for (auto& [name, tensor] : state_of(model)) {
    names.insert(name);
    const auto saved = tensors.find(name);
    HEED_CHECK(saved != tensors.end(), "{}: tensor '{}' is missing; the file is of another model",
               source, name);
    HEED_CHECK(saved->second.sizes() == tensor.sizes(),
               "{}: tensor '{}' is {}, the config makes it {}", source, name,
               shape_text(saved->second), shape_text(tensor));
    HEED_CHECK(torch::isfinite(saved->second).all().item<bool>(),
               "{}: tensor '{}' holds NaN or infinity", source, name);
    Tensor(tensor).copy_(saved->second);
  }
  for (const auto& [name, tensor] : tensors) {
    HEED_CHECK(names.contains(name), "{}: tensor '{}' is not of this model", source, name);
  }
}

namespace {

/// The counts of all ranks together, where each has read a part.
WordCounts added(const WordCounts& own, const Dataset& data, dist::Group& group) {
  if (data.train_held.size == 0) return own;
  WordCounts counts;
  for (const std::string& text : group.gather(Json(own).dump())) {
    for (const auto& [word, count] : Json::parse(text).get<WordCounts>()) counts[word] += count;
  }
  return counts;
}

}  // namespace

DataInfo data_info(const Config& config, const Dataset& data, dist::Group& group) {
  DataInfo info{.labels = data.labels, .vocabulary = {}, .inputs = data.inputs};
  info.graph = data.graph;
  if (config.task.subwords > 0) {
    WordCounts words = count_words(data.train);
    for (const auto& [word, count] : count_targets(data.train)) words[word] += count;
    info.segmenter = Segmenter::learn(
        added(words, data, group),
        {.kind = config.task.pieces, .size = static_cast<std::size_t>(config.task.subwords)});
  }
  const std::vector<Example> cut = info.segmenter ? info.seen(data.train) : std::vector<Example>();
  const std::vector<Example>& train = data.graph       ? data.graph->nodes
                                      : info.segmenter ? cut
                                                       : data.train;
  const VocabularyOptions options{.min_count = config.task.min_count};
  info.vocabulary = Vocabulary::from_counts(added(count_words(train), data, group), options);
  info.target_vocabulary =
      Vocabulary::from_counts(added(count_targets(train), data, group), options);
  if (config.output.id == "memory" && config.task.source.kind == "recommend") {
    const Options memory =
        resolve(registry().find(Group::output, "memory"), config.output.options, "output");
    info.users = UserVectors::learn(
        data.users, info.labels, info.vocabulary,
        {.dim = get<std::int64_t>(memory, "dim"), .source = get<double>(memory, "source")});
  }
  return info;
}

void save_info(const RunFiles& files, const DataInfo& info) {
  Json inputs = Json::array();
  for (const InputInfo& input : info.inputs)
    inputs.push_back({{"name", input.name},
                      {"width", input.width},
                      {"levels", input.levels},
                      {"grid", input.grid}});
  const Json json{{"labels", info.labels},
                  {"inputs", inputs},
                  {"vocabulary", Json::parse(info.vocabulary.to_json())},
                  {"target_vocabulary", Json::parse(info.target_vocabulary.to_json())}};
  write_file(files.vocabulary(), json.dump() + "\n");
  if (info.segmenter) write_file(files.subwords(), info.segmenter->model());
  if (info.users) info.users->save(files.users());
}

namespace {

DataInfo read_info(const RunFiles& files, const Config& config) {
  const std::string source = files.vocabulary().string();
  const std::string text = read_file(files.vocabulary());
  DataInfo info{.labels = {}, .vocabulary = {}, .inputs = {}};
  try {
    const Json json = Json::parse(shallow_json(text));
    info.labels = json.at("labels").get<std::vector<std::string>>();
    info.vocabulary = Vocabulary::from_json(json.at("vocabulary").dump(), source);
    info.target_vocabulary = Vocabulary::from_json(json.at("target_vocabulary").dump(), source);
    for (const Json& input : json.at("inputs"))
      info.inputs.push_back({.name = input.at("name"),
                             .width = input.at("width"),
                             .levels = input.at("levels"),
                             .grid = input.value("grid", std::vector<std::int64_t>())});
  } catch (const Json::exception&) {
    throw InputError(fmt::format("{}: damaged: labels, inputs and vocabulary are needed", source));
  }
  if (config.task.subwords > 0)
    info.segmenter =
        std::make_shared<Segmenter>(read_file(files.subwords()), files.subwords().string());
  if (config.output.id == "memory")
    info.users = UserVectors::load(files.users(), info.labels.size(), info.vocabulary.size());
  if (config.task.source.kind == "graph") info.graph = load_dataset(config.task.source).graph;
  return info;
}

}  // namespace

LoadedRun load_untrained(const std::filesystem::path& run) {
  const RunFiles files{run};
  HEED_CHECK(std::filesystem::is_directory(run), "{}: there is no such run directory",
             run.string());
  HEED_CHECK(std::filesystem::exists(files.config()), "{}: no run directory: it has no config.toml",
             run.string());
  LoadedRun loaded{.config = load_config(files.config(), registry())};
  loaded.info = read_info(files, loaded.config);
  loaded.model = make_task_model(loaded.config, loaded.info);
  return loaded;
}

LoadedRun load(const std::filesystem::path& run) {
  LoadedRun loaded = load_untrained(run);
  const RunFiles files{run};
  HEED_CHECK(
      std::filesystem::exists(files.weights()),
      "{}: not trained yet: there is no weights.safetensors; run 'heed train CONFIG --out {}'",
      run.string(), run.string());
  restore_state(*loaded.model, read_safetensors(files.weights()).tensors, files.weights().string());
  loaded.model->eval();
  return loaded;
}

}  // namespace heed
