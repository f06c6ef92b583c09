#include "heed/data/dataset.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "data/table.hpp"
#include "heed/base/error.hpp"
#include "heed/base/random.hpp"
#include "heed/base/words.hpp"
#include "heed/data/reviews.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBuiltin = "builtin:";

/// An example and where it was read, for messages about it once all parts are known.
struct Placed {
  Example example;
  std::string split;
  std::size_t line = 0;
};

enum class Need { optional, required };

fs::path resolve(const std::string& name, const fs::path& base) {
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

std::vector<Column> columns_of(const DataSource& source, Need label, Need split) {
  static const std::vector<std::string> kRoles = {"text", "label", "split", "rationale", "id"};
  for (const auto& [role, name] : source.columns) {
    const bool known = std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end();
    HEED_CHECK(known, "task.columns: unknown column '{}'{}", role, suggestion(role, kRoles));
  }
  std::vector<Column> columns;
  for (const std::string& role : kRoles) {
    const auto named = source.columns.find(role);
    const bool given = named != source.columns.end();
    const bool needed = role == "text" || (role == "label" && label == Need::required) ||
                        (role == "split" && split == Need::required);
    // A name the user wrote must exist, though the role may do without: silence would hide a typo.
    const bool asked = given && (role == "rationale" || role == "id");
    columns.push_back(
        {.role = role, .name = given ? named->second : role, .required = needed || asked});
  }
  return columns;
}

std::vector<float> parse_rationale(std::string_view text, std::size_t tokens,
                                   const std::string& where) {
  std::vector<std::string> words = split_words(text);
  const auto is_bit = [](char c) { return c == '0' || c == '1'; };
  if (words.size() == 1 && words[0].size() == tokens && std::ranges::all_of(words[0], is_bit)) {
    std::vector<float> bits;
    for (const char c : words[0]) bits.push_back(c == '1' ? 1.0f : 0.0f);
    return bits;
  }
  HEED_CHECK(words.size() == tokens,
             "{}: the rationale has {} number{} for {} token{}; one a token is needed", where,
             words.size(), words.size() == 1 ? "" : "s", tokens, tokens == 1 ? "" : "s");
  std::vector<float> weights;
  for (const std::string& word : words) {
    float value = std::numeric_limits<float>::quiet_NaN();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool whole = error == std::errc() && end == word.data() + word.size();
    HEED_CHECK(whole && std::isfinite(value) && value >= 0,
               "{}: the rationale has '{}'; a number of 0 or more is needed, one a token", where,
               word);
    weights.push_back(value);
  }
  return weights;
}

void check_max_length(const DataSource& source) {
  HEED_CHECK(source.max_length >= 0, "max_length: {} is negative; give 0 for no limit",
             source.max_length);
}

std::vector<Placed> read_examples(const fs::path& file, const DataSource& source, Need label,
                                  Need split) {
  check_max_length(source);
  const std::vector<Column> columns = columns_of(source, label, split);
  std::vector<Placed> examples;
  for (Row& row : read_table(file, columns)) {
    const std::string where = at_line(file, row.line);
    const auto& [text, label_cell, split_cell, rationale, id] =
        std::tie(row.cells[0], row.cells[1], row.cells[2], row.cells[3], row.cells[4]);
    Placed placed{.example = {}, .split = split_cell.value_or(""), .line = row.line};
    Example& example = placed.example;
    example.id = std::string(trim(id.value_or("")));  // an empty one is numbered in its part
    example.label = std::string(trim(label_cell.value_or("")));
    HEED_CHECK(label == Need::optional || !example.label.empty(),
               "{}: the {} is empty; fill it in or remove the row", where, columns[1].name);
    std::vector<std::string> tokens =
        split_words(source.lowercase ? lower(text.value_or("")) : text.value_or(""));
    HEED_CHECK(!tokens.empty(), "{}: the {} is empty; fill it in or remove the row", where,
               columns[0].name);
    const auto kept = source.max_length > 0
                          ? std::min(tokens.size(), static_cast<std::size_t>(source.max_length))
                          : tokens.size();
    if (rationale && !trim(*rationale).empty()) {
      std::vector<float> weights = parse_rationale(*rationale, tokens.size(), where);
      weights.resize(kept);
      example.gold["text"] = std::move(weights);
    }
    tokens.resize(kept);
    example.inputs["text"] = std::move(tokens);
    examples.push_back(std::move(placed));
  }
  return examples;
}

/// Moves a share of `train` to `val`, the same share of each label as nearly as whole examples
/// allow. A label keeps at least one training example.
void hold_out(std::vector<Example>& train, std::vector<Example>& val, double fraction,
              std::uint64_t seed) {
  std::map<std::string, std::vector<std::size_t>> by_label;
  for (std::size_t i = 0; i < train.size(); ++i) by_label[train[i].label].push_back(i);
  Random random(seed);
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
  std::vector<Example> kept;
  for (std::size_t i = 0; i < train.size(); ++i) {
    (held[i] ? val : kept).push_back(std::move(train[i]));
  }
  train = std::move(kept);
}

/// Which part a split cell names.
std::vector<Placed>* part_of(std::string_view split, std::vector<Placed>& train,
                             std::vector<Placed>& val, std::vector<Placed>& test) {
  const std::string name = lower(trim(split));
  if (name == "train") return &train;
  if (name == "test") return &test;
  const bool is_val = name == "val" || name == "dev" || name == "valid" || name == "validation";
  return is_val ? &val : nullptr;
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

std::uint64_t parse_option(std::string_view text, const std::string& data) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  HEED_CHECK(error == std::errc() && end == text.data() + text.size() && !text.empty(),
             "{}: '{}' is not a whole number", data, text);
  return value;
}

Dataset load_builtin(const std::string& data) {
  static const std::vector<std::string> kNames = {"reviews"};
  static const std::vector<std::string> kOptions = {"size", "seed"};
  const std::string rest = data.substr(kBuiltin.size());
  const std::size_t question = std::min(rest.find('?'), rest.size());
  const std::string name = rest.substr(0, question);
  HEED_CHECK(name == "reviews", "{}: no built-in corpus '{}'{}", data, name,
             suggestion(name, kNames));
  ReviewsOptions options;
  if (question < rest.size()) {
    for (const std::string& option : split(std::string_view(rest).substr(question + 1), '&')) {
      const std::size_t equals = std::min(option.find('='), option.size());
      const std::string key = option.substr(0, equals);
      const std::string value = equals < option.size() ? option.substr(equals + 1) : "";
      HEED_CHECK(key == "size" || key == "seed", "{}: no option '{}'{}", data, key,
                 suggestion(key, kOptions));
      const std::uint64_t number = parse_option(value, data);
      if (key == "seed") {
        options.seed = number;
      } else {
        HEED_CHECK(number >= 1 && number <= 1'000'000, "{}: size is {}; 1 to 1000000 is needed",
                   data, number);
        options.train = number;
        options.val = std::max<std::size_t>(2, number / 8);
        options.test = std::max<std::size_t>(2, number / 4);
      }
    }
  }
  return reviews(options);
}

void shorten(std::vector<Example>& examples, std::size_t length) {
  for (Example& example : examples) {
    for (auto& [name, tokens] : example.inputs) tokens.resize(std::min(tokens.size(), length));
    for (auto& [name, weights] : example.gold) weights.resize(std::min(weights.size(), length));
  }
}

}  // namespace

std::vector<Example> load_examples(const std::string& file, const DataSource& source) {
  return without_places(
      read_examples(resolve(file, source.base), source, Need::optional, Need::optional), "row");
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
  if (source.data.starts_with(kBuiltin)) {
    check_max_length(source);
    Dataset data = load_builtin(source.data);
    for (auto* part : {&data.train, &data.val, &data.test}) {
      if (source.max_length > 0) shorten(*part, static_cast<std::size_t>(source.max_length));
    }
    return data;
  }

  const bool one_file = !source.data.empty();
  const fs::path first = resolve(one_file ? source.data : source.train, source.base);
  fs::path val_file = first, test_file = first;
  std::vector<Placed> train, val, test;
  if (one_file) {
    for (Placed& placed : read_examples(first, source, Need::required, Need::required)) {
      auto* part = part_of(placed.split, train, val, test);
      HEED_CHECK(part, "{}: split '{}' is unknown; one of train, val, test",
                 at_line(first, placed.line), placed.split);
      part->push_back(std::move(placed));
    }
    HEED_CHECK(!train.empty(),
               "{}:1: no row has split 'train'; the model has nothing to learn from",
               first.string());
  } else {
    train = read_examples(first, source, Need::required, Need::optional);
    const auto read_part = [&](const std::string& name, fs::path& file, std::vector<Placed>& part) {
      if (name.empty()) return;
      file = resolve(name, source.base);
      part = read_examples(file, source, Need::required, Need::optional);
    };
    read_part(source.val, val_file, val);
    read_part(source.test, test_file, test);
  }

  Dataset data;
  data.name = first.stem().string();
  std::set<std::string> labels;
  for (const Placed& placed : train) labels.insert(placed.example.label);
  data.labels.assign(labels.begin(), labels.end());
  check_labels(val, "val", val_file, data.labels);
  check_labels(test, "test", test_file, data.labels);
  data.train = without_places(std::move(train), "train");
  data.val = without_places(std::move(val), "val");
  data.test = without_places(std::move(test), "test");
  if (data.val.empty() && source.val_fraction > 0) {
    hold_out(data.train, data.val, source.val_fraction, source.seed);
  }
  return data;
}

}  // namespace heed
