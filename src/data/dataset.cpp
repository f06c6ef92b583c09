#include "heed/data/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "data/graphs.hpp"
#include "data/images.hpp"
#include "data/parts.hpp"
#include "data/recommend.hpp"
#include "heed/base/error.hpp"
#include "heed/base/random.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBuiltin = "builtin:";

/// Which examples are held out: the same share of each label as nearly as whole examples allow. A
/// label keeps at least one training example.
std::vector<bool> held_by_label(std::span<const Example> train, double fraction, Random& random) {
  std::map<std::string, std::vector<std::size_t>> by_label;
  for (std::size_t i = 0; i < train.size(); ++i) by_label[train[i].label].push_back(i);
  std::vector<bool> held(train.size(), false);
  double owed = 0;  // what rounding left over goes to the next label, so that the sum is right
  for (auto& [label, indices] : by_label) {
    random.shuffle(std::span(indices));
    owed += fraction * static_cast<double>(indices.size());
    const auto wanted = static_cast<std::size_t>(std::max(0.0, std::floor(owed + 0.5)));
    const std::size_t taken = std::min(wanted, indices.size() - 1);
    owed -= static_cast<double>(taken);
    for (std::size_t i = 0; i < taken; ++i) held[indices[i]] = true;
  }
  return held;
}

/// The same by whole groups, whatever their labels: what is held out shares no story with what is
/// learned from.
std::vector<bool> held_by_group(std::span<const Example> train, double fraction, Random& random) {
  std::vector<std::string> groups;
  for (const Example& example : train) {
    if (groups.empty() || groups.back() != example.group) groups.push_back(example.group);
  }
  random.shuffle(std::span(groups));
  const auto share = static_cast<double>(groups.size()) * fraction;
  groups.resize(std::min(groups.size() - 1, static_cast<std::size_t>(std::floor(share + 0.5))));
  const std::set<std::string> chosen(groups.begin(), groups.end());
  std::vector<bool> held;
  for (const Example& example : train) held.push_back(chosen.contains(example.group));
  return held;
}

/// Moves a share of `train` to `val`.
void hold_out(std::vector<Example>& train, std::vector<Example>& val, double fraction,
              std::uint64_t seed) {
  Random random(seed);
  const bool grouped = std::ranges::none_of(train, &std::string::empty, &Example::group);
  const std::vector<bool> held = grouped && !train.empty() ? held_by_group(train, fraction, random)
                                                           : held_by_label(train, fraction, random);
  std::vector<Example> kept;
  for (std::size_t i = 0; i < train.size(); ++i) {
    (held[i] ? val : kept).push_back(std::move(train[i]));
  }
  train = std::move(kept);
}

/// The rows of each part, and the files they came from.
struct Parts {
  std::vector<Placed> train, val, test;
  fs::path train_file, val_file, test_file;

  /// Which part a split cell names.
  std::vector<Placed>* named(std::string_view split) {
    const std::string name = lower(trim(split));
    if (name == "train") return &train;
    if (name == "test") return &test;
    const bool is_val = name == "val" || name == "dev" || name == "valid" || name == "validation";
    return is_val ? &val : nullptr;
  }
};

Parts read_parts(const DataSource& source, const ReadPart& read, bool has_split) {
  Parts parts;
  if (!source.data.empty()) {
    HEED_CHECK(has_split,
               "task: the files of kind '{}' have no split column; give 'train' and 'test' (and "
               "'val') instead of 'data'",
               source.kind);
    const fs::path file = find_file(source.data, source.base);
    parts.train_file = parts.val_file = parts.test_file = file;
    for (Placed& placed : read(file, source, {.label = true, .split = true})) {
      auto* part = parts.named(placed.split);
      HEED_CHECK(part, "{}: split '{}' is unknown; one of train, val, test",
                 at_line(file, placed.line), placed.split);
      part->push_back(std::move(placed));
    }
    HEED_CHECK(!parts.train.empty(),
               "{}:1: no row has split 'train'; the model has nothing to learn from",
               file.string());
    return parts;
  }
  const auto read_part = [&](const std::string& name, fs::path& file, std::vector<Placed>& part) {
    if (name.empty()) return;
    file = find_file(name, source.base);
    part = read(file, source, {.label = true, .split = false});
  };
  read_part(source.train, parts.train_file, parts.train);
  read_part(source.val, parts.val_file, parts.val);
  read_part(source.test, parts.test_file, parts.test);
  return parts;
}

void check_labels(std::span<const Placed> part, std::string_view name, const fs::path& file,
                  std::span<const std::string> labels) {
  for (const Placed& placed : part) {
    const bool known = std::ranges::binary_search(labels, placed.example.label);
    HEED_CHECK(known, "{}: label '{}' of the {} part does not occur in the training part{}",
               at_line(file, placed.line), placed.example.label, name,
               suggestion(placed.example.label, labels));
  }
}

std::vector<Example> without_places(std::vector<Placed> part, std::string_view name) {
  std::vector<Example> examples;
  examples.reserve(part.size());
  for (Placed& placed : part) {
    examples.push_back(std::move(placed.example));
    if (examples.back().id.empty())
      examples.back().id = fmt::format("{}-{}", name, examples.size());
  }
  return examples;
}

Dataset load_files(const DataSource& source, const ReadPart& read, bool has_split, bool label) {
  Parts parts = read_parts(source, read, has_split);
  Dataset data;
  data.name = parts.train_file.stem().string();
  if (label) {
    std::set<std::string> labels;
    for (const Placed& placed : parts.train) labels.insert(placed.example.label);
    data.labels.assign(labels.begin(), labels.end());
    check_labels(parts.val, "val", parts.val_file, data.labels);
    check_labels(parts.test, "test", parts.test_file, data.labels);
  }
  data.train = without_places(std::move(parts.train), "train");
  data.val = without_places(std::move(parts.val), "val");
  data.test = without_places(std::move(parts.test), "test");
  if (data.val.empty() && source.val_fraction > 0) {
    hold_out(data.train, data.val, source.val_fraction, source.seed);
  }
  return data;
}

bool contains(std::span<const std::string> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

std::size_t input_length(const Example& example, const std::string& input) {
  if (const auto words = example.inputs.find(input); words != example.inputs.end())
    return words->second.size();
  if (const auto view = example.views.find(input); view != example.views.end())
    return view->second.end - view->second.begin;
  const auto values = example.values.find(input);
  return values == example.values.end() ? 0 : values->second.length();
}

std::int64_t total_length(const Example& example) {
  std::size_t total = example.target.size();
  for (const auto& [name, words] : example.inputs) total += words.size();
  for (const auto& [name, values] : example.values) total += values.length();
  return static_cast<std::int64_t>(total);
}

std::filesystem::path find_file(const std::string& name, const fs::path& base) {
  const fs::path path = name;
  if (path.is_absolute() || base.empty()) {
    HEED_CHECK(fs::exists(path), "{}: no such file; check the path", path.string());
    return path;
  }
  const fs::path beside = base / path;
  if (fs::exists(beside)) return beside;
  HEED_CHECK(fs::exists(path),
             "{}: no such file, neither in '{}' nor in the working folder; check the path", name,
             base.string());
  return path;
}

DataKind file_kind(std::string id, std::string doc, std::vector<std::string> columns,
                   std::vector<InputInfo> inputs, ReadPart read) {
  const bool has_split = contains(columns, "split"), label = contains(columns, "label");
  return {.id = std::move(id),
          .doc = std::move(doc),
          .columns = std::move(columns),
          .load =
              [=](const DataSource& source) {
                Dataset data = load_files(source, read, has_split, label);
                data.inputs = inputs;
                return data;
              },
          .load_examples =
              [=](const std::string& file, const DataSource& source) {
                return without_places(read(find_file(file, source.base), source, {}), "row");
              }};
}

const std::vector<DataKind>& data_kinds() {
  static const std::vector<DataKind> kinds = [] {
    std::vector<DataKind> all = table_kinds();
    for (DataKind& kind : std::vector{graph_kind(), image_kind(), count_kind(), recommend_kind()})
      all.push_back(std::move(kind));
    return all;
  }();
  return kinds;
}

const DataKind& data_kind(const std::string& id) {
  std::vector<std::string> ids;
  for (const DataKind& kind : data_kinds()) {
    if (kind.id == id) return kind;
    ids.push_back(kind.id);
  }
  throw InputError(fmt::format("unknown kind of task '{}'{}", id, suggestion(id, ids)));
}

std::vector<Example> load_examples(const std::string& file, const DataSource& source) {
  const DataKind& kind = data_kind(source.kind);
  HEED_CHECK(kind.load_examples, "{}: tasks of kind '{}' answer for their own data only", file,
             source.kind);
  return kind.load_examples(file, source);
}

Dataset load_dataset(const DataSource& source) {
  HEED_CHECK(source.data.empty() != source.train.empty(),
             "task: {}; give 'data' (one file with a split column, or builtin:reviews) or 'train' "
             "(and 'val', "
             "'test')",
             source.data.empty() ? "no data is named" : "both 'data' and 'train' are given");
  HEED_CHECK(
      source.data.empty() || (source.val.empty() && source.test.empty()),
      "task: 'val' and 'test' go with 'train'; with 'data' the split column tells the parts");
  HEED_CHECK(source.val_fraction >= 0 && source.val_fraction < 1,
             "val_fraction: {} is outside 0 … 1; try 0.1", source.val_fraction);
  HEED_CHECK(source.max_length >= 0, "max_length: {} is negative; give 0 for no limit",
             source.max_length);
  const DataKind& kind = data_kind(source.kind);
  if (!source.source.empty() && kind.id != "recommend") return load_transfer(source);
  Dataset data = source.data.starts_with(kBuiltin) ? load_builtin(source) : kind.load(source);
  add_human_attention(data, source);
  return data;
}

}  // namespace heed
