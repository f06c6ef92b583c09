#include "heed/data/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "data/graphs.hpp"
#include "data/images.hpp"
#include "data/parts.hpp"
#include "data/recommend.hpp"
#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/random.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBuiltin = "builtin:";

/// What the columns of a kind say of its files, and whether ranks may each read a part of them.
struct FileKind {
  bool split = false, label = false, in_parts = false;
};

using Labels = std::span<const std::string* const>;

/// Which examples are held out: the same share of each label as nearly as whole examples allow. A
/// label keeps at least one training example.
std::vector<bool> held_by_label(Labels labels, double fraction, Random& random) {
  std::map<std::string_view, std::vector<std::size_t>> by_label;
  for (std::size_t i = 0; i < labels.size(); ++i) by_label[*labels[i]].push_back(i);
  std::vector<bool> held(labels.size(), false);
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
std::vector<bool> held_by_group(Labels of, double fraction, Random& random) {
  std::vector<const std::string*> groups;
  for (const std::string* group : of) {
    if (groups.empty() || groups.back() != group) groups.push_back(group);
  }
  random.shuffle(std::span(groups));
  const auto share = static_cast<double>(groups.size()) * fraction;
  groups.resize(std::min(groups.size() - 1, static_cast<std::size_t>(std::floor(share + 0.5))));
  const std::set<const std::string*> chosen(groups.begin(), groups.end());
  std::vector<bool> held;
  for (const std::string* group : of) held.push_back(chosen.contains(group));
  return held;
}

/// What a file says of a part's examples, and those of them that are here.
struct Part {
  std::string name;
  fs::path file = {};
  std::vector<Example> examples = {};
  Held held = {};                                            // its places are those of `examples`
  std::vector<const std::string*> labels = {}, groups = {};  // of all; Parts has the words
  std::vector<std::size_t> lines = {};

  void add(Example example) {
    held.places.push_back(held.size++);
    examples.push_back(std::move(example));
  }
};

struct Parts {
  Part train{.name = "train"}, val{.name = "val"}, test{.name = "test"};
  std::set<std::string> words;

  /// Which part a split cell names.
  Part* named(std::string_view split) {
    const std::string name = lower(trim(split));
    if (is_train(name)) return &train;
    if (name == "test") return &test;
    const bool is_val = name == "val" || name == "dev" || name == "valid" || name == "validation";
    return is_val ? &val : nullptr;
  }

  void add(Part& part, Placed placed) {
    Example& example = placed.example;
    part.labels.push_back(&*words.insert(example.label).first);
    part.groups.push_back(&*words.insert(example.group).first);
    part.lines.push_back(placed.line);
    part.held.hash = part.held.hash * 31 + placed.hash;
    if (!placed.here) {
      ++part.held.size;
      return;
    }
    if (example.id.empty()) example.id = fmt::format("{}-{}", part.name, part.held.size + 1);
    part.add(std::move(example));
  }

  /// Moves a share of `train` to `val`.
  void hold_out(double fraction, std::uint64_t seed) {
    Random random(seed);
    const bool grouped = std::ranges::none_of(train.groups, &std::string::empty);
    const std::vector<bool> held = grouped && !train.groups.empty()
                                       ? held_by_group(train.groups, fraction, random)
                                       : held_by_label(train.labels, fraction, random);
    Part kept{.name = "train", .file = train.file};
    kept.held.hash = train.held.hash;
    std::size_t next = 0;  // of those here
    for (std::size_t i = 0; i < held.size(); ++i) {
      Part& part = held[i] ? val : kept;
      if (next < train.held.places.size() && train.held.places[next] == i) {
        part.add(std::move(train.examples[next++]));
      } else {
        ++part.held.size;
      }
    }
    train = std::move(kept);
  }
};

/// Labels of the texts of a transfer are not looked at: those of the source are learned.
bool needs_labels(const DataSource& source) { return source.source.empty(); }

Parts read_parts(const DataSource& source, const ReadPart& read, bool has_split, bool shared) {
  Parts parts;
  FileNeeds needs{.label = needs_labels(source), .split = !source.data.empty(), .shared = shared};
  if (!source.data.empty()) {
    HEED_CHECK(has_split,
               "task: the files of kind '{}' have no split column; give 'train' and 'test' (and "
               "'val') instead of 'data'",
               source.kind);
    const fs::path file = find_file(source.data, source.base);
    parts.train.file = parts.val.file = parts.test.file = file;
    read(file, source, needs, [&](Placed placed) {
      Part* part = parts.named(placed.split);
      HEED_CHECK(part, "{}: split '{}' is unknown; one of train, val, test",
                 at_line(file, placed.line), placed.split);
      parts.add(*part, std::move(placed));
    });
    HEED_CHECK(parts.train.held.size > 0,
               "{}:1: no row has split 'train'; the model has nothing to learn from",
               file.string());
    return parts;
  }
  const auto read_part = [&](const std::string& name, Part& part, bool in_parts) {
    if (name.empty()) return;
    part.file = find_file(name, source.base);
    needs.shared = in_parts;
    read(part.file, source, needs, [&](Placed placed) {
      const Part* told = parts.named(placed.split);
      HEED_CHECK(!told || told == &part,
                 "{}: the row's split is '{}', and its file is given as '{}'; give the file as "
                 "'data', where splits count, or leave the row out",
                 at_line(part.file, placed.line), placed.split, part.name);
      parts.add(part, std::move(placed));
    });
  };
  read_part(source.train, parts.train, shared);
  read_part(source.val, parts.val, false);
  read_part(source.test, parts.test, false);
  return parts;
}

void check_labels(const Part& part, std::span<const std::string> labels) {
  for (std::size_t i = 0; i < part.labels.size(); ++i) {
    const std::string& label = *part.labels[i];
    HEED_CHECK(std::ranges::binary_search(labels, label),
               "{}: label '{}' of the {} part does not occur in the training part{}",
               at_line(part.file, part.lines[i]), label, part.name, suggestion(label, labels));
  }
}

Dataset load_files(const DataSource& source, const ReadPart& read, const FileKind& kind) {
  const bool shared = kind.in_parts && source.share.ranks > 1;
  Parts parts = read_parts(source, read, kind.split, shared);
  Dataset data;
  data.name = parts.train.file.stem().string();
  if (kind.label && needs_labels(source)) {
    std::set<std::string> labels;
    for (const std::string* label : parts.train.labels) labels.insert(*label);
    data.labels.assign(labels.begin(), labels.end());
    check_labels(parts.val, data.labels);
    check_labels(parts.test, data.labels);
  }
  const bool hold_out = parts.val.held.size == 0 && source.val_fraction > 0;
  if (hold_out) parts.hold_out(source.val_fraction, source.seed);
  data.train = std::move(parts.train.examples);
  data.val = std::move(parts.val.examples);
  data.test = std::move(parts.test.examples);
  if (shared) {
    data.train_held = std::move(parts.train.held);
    if (hold_out) data.val_held = std::move(parts.val.held);  // else every rank has read it
  }
  return data;
}

/// Puts the training part of `source.extra` behind that of `data`.
void add_extra(Dataset& data, const DataSource& source) {
  DataSource other = source;
  other.data = source.extra;
  other.train = other.val = other.test = other.extra = other.human = "";
  other.val_fraction = 0;
  Dataset more = load_dataset(other);
  for (const std::string& label : more.labels) {
    HEED_CHECK(std::ranges::binary_search(data.labels, label),
               "{}: label '{}' of task.extra does not occur in {}{}",
               place_of_label(other, "train", label), label, data.name,
               suggestion(label, data.labels));
  }
  std::ranges::move(more.train, std::back_inserter(data.train));
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
    HEED_CHECK(is_there(path), "{}: no such file; check the path", path.string());
    return path;
  }
  const fs::path beside = base / path;
  if (is_there(beside)) return beside;
  HEED_CHECK(is_there(path),
             "{}: no such file, neither in '{}' nor in the working folder; check the path", name,
             base.string());
  return path;
}

std::string place_of_label(const DataSource& source, const std::string& part,
                           const std::string& label) {
  const std::string& own = part == "test" ? source.test : source.train;
  const std::string& name = source.data.empty() ? own : source.data;
  if (name.starts_with(kBuiltin) || !is_table(name)) return name;
  std::vector<Column> columns;
  for (const char* role : {"label", "split"}) {
    const auto named = source.columns.find(role);
    columns.push_back({.role = role,
                       .name = named == source.columns.end() ? role : named->second,
                       .required = false});
  }
  const fs::path file = find_file(name, source.base);
  for (const Row& row : read_table(file, columns)) {
    const bool in_part = source.data.empty() || lower(trim(row.cells[1].value_or(""))) == part;
    if (in_part && trim(row.cells[0].value_or("")) == label) return at_line(file, row.line);
  }
  return file.string();
}

bool is_train(std::string_view split) { return lower(trim(split)) == "train"; }

Dataset load_own(const DataSource& source) {
  return source.data.starts_with(kBuiltin) ? load_builtin(source)
                                           : data_kind(source.kind).load(source);
}

DataKind file_kind(std::string id, std::string doc, std::vector<std::string> columns,
                   std::vector<InputInfo> inputs, ReadPart read, bool in_parts) {
  const FileKind kind{.split = contains(columns, "split"),
                      .label = contains(columns, "label"),
                      .in_parts = in_parts};
  return {.id = std::move(id),
          .doc = std::move(doc),
          .columns = std::move(columns),
          .load =
              [=](const DataSource& source) {
                Dataset data = load_files(source, read, kind);
                data.inputs = inputs;
                return data;
              },
          .load_examples =
              [=](const std::string& file, const DataSource& source) {
                Parts parts;
                Part rows{.name = "row"};
                read(find_file(file, source.base), source, {},
                     [&](Placed placed) { parts.add(rows, std::move(placed)); });
                return std::move(rows.examples);
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
  HEED_CHECK(source.extra.empty() || kind.load_examples,
             "task.extra: tasks of kind '{}' are of one file", source.kind);
  const bool joined = !(source.source.empty() && source.extra.empty() && source.human.empty());
  if (source.share.ranks > 1 && joined) {
    DataSource whole = source;  // texts are compared with all others there
    whole.share = {};
    return load_dataset(whole);
  }
  if (!source.source.empty() && kind.id != "recommend") return load_transfer(source);
  Dataset data = load_own(source);
  if (!source.extra.empty()) add_extra(data, source);
  add_human_attention(data, source);
  return data;
}

}  // namespace heed
