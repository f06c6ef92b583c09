// The kinds of task whose examples are rows of a table: columns to inputs.
#include <algorithm>

#include "data/parts.hpp"
#include "data/stories.hpp"
#include "heed/base/error.hpp"
#include "heed/base/words.hpp"
#include "heed/data/fields.hpp"

namespace heed {
namespace {

namespace fs = std::filesystem;

/// The cells of one row by role.
class Cells {
 public:
  /// `cure`: what else helps where a cell is empty that must not be.
  Cells(std::string where, const Row& row, std::span<const Column> columns,
        const DataSource& source, std::string_view cure)
      : where_(std::move(where)), row_(row), columns_(columns), source_(source), cure_(cure) {}

  const std::string& where() const { return where_; }

  /// The trimmed cell; "" when there is none.
  std::string text(std::string_view role) const {
    return std::string(trim(row_.cells[index(role)].value_or("")));
  }
  std::string needed(std::string_view role) const {
    std::string cell = text(role);
    HEED_CHECK(!cell.empty(), "{}: the {} is empty; fill it in{}", where_,
               columns_[index(role)].name, cure_);
    return cell;
  }
  std::vector<std::string> words(std::string_view role) const {
    return split_words(source_.lowercase ? lower(text(role)) : text(role));
  }
  std::vector<std::string> needed_words(std::string_view role) const {
    needed(role);
    return words(role);
  }
  std::size_t limit() const { return static_cast<std::size_t>(source_.max_length); }
  std::size_t kept(std::size_t length) const {
    return limit() > 0 ? std::min(length, limit()) : length;
  }

 private:
  std::size_t index(std::string_view role) const {
    const auto found =
        std::ranges::find(columns_, role, [](const Column& column) { return column.role; });
    return static_cast<std::size_t>(found - columns_.begin());
  }

  std::string where_;
  const Row& row_;
  std::span<const Column> columns_;
  const DataSource& source_;
  std::string_view cure_;
};

void set_text(Example& example, const std::string& name, std::vector<std::string> words,
              const Cells& cells) {
  words.resize(cells.kept(words.size()));
  example.inputs[name] = std::move(words);
}

void set_gold(Example& example, const std::string& name, std::size_t tokens, const Cells& cells) {
  const std::string rationale = cells.text("rationale");
  if (rationale.empty()) return;
  std::vector<float> weights = parse_weights(rationale, tokens, cells.where());
  weights.resize(cells.kept(tokens));
  example.gold[name] = std::move(weights);
}

void read_classify(const Cells& cells, Example& example) {
  std::vector<std::string> words = cells.needed_words("text");
  set_gold(example, "text", words.size(), cells);
  set_text(example, "text", std::move(words), cells);
}

void read_pair(const Cells& cells, Example& example) {
  for (const char* side : {"first", "second"})
    set_text(example, side, cells.needed_words(side), cells);
}

/// The sentence as one text, and its three stretches as views of it. A limit on the length takes
/// words from the far ends: what stands near the target decides.
void read_aspect(const Cells& cells, Example& example) {
  std::vector<std::string> left = cells.words("left"), right = cells.words("right");
  const std::vector<std::string> target = cells.needed_words("target");
  const std::size_t all = left.size() + target.size() + right.size();
  std::vector<float> gold;
  if (const std::string rationale = cells.text("rationale"); !rationale.empty())
    gold = parse_weights(rationale, all, cells.where());
  const std::size_t room = cells.kept(all) - std::min(cells.kept(all), target.size());
  const std::size_t from_right =
      std::min(right.size(), std::max(room / 2, room - std::min(room, left.size())));
  const std::size_t from_left = std::min(left.size(), room - from_right);
  const std::size_t dropped = left.size() - from_left;
  left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(dropped));
  right.resize(from_right);
  std::vector<std::string>& text = example.inputs["text"];
  const auto add = [&](const std::string& name, const std::vector<std::string>& words) {
    example.views[name] = {.of = "text", .begin = text.size(), .end = text.size() + words.size()};
    text.insert(text.end(), words.begin(), words.end());
  };
  add("left", left);
  add("target", target);
  add("right", right);
  if (!gold.empty()) {
    const auto first = gold.begin() + static_cast<std::ptrdiff_t>(dropped);
    example.gold["text"].assign(first, first + static_cast<std::ptrdiff_t>(text.size()));
  }
}

/// Where the sentences of a text end: at the line ends that join the strings of a JSON array, or
/// else after the marks that end a sentence.
std::vector<std::int64_t> sentence_lengths(const std::string& cell,
                                           std::span<const std::string> words) {
  std::vector<std::int64_t> lengths;
  if (cell.find('\n') != std::string::npos) {
    for (const std::string& line : split(cell, '\n')) {
      const auto length = static_cast<std::int64_t>(split_words(line).size());
      if (length > 0) lengths.push_back(length);
    }
    return lengths;
  }
  std::int64_t length = 0;
  for (const std::string& word : words) {
    ++length;
    if (word != "." && word != "!" && word != "?") continue;
    lengths.push_back(length);
    length = 0;
  }
  if (length > 0) lengths.push_back(length);
  return lengths;
}

/// The sentences of the first `words` words; the last of them may be cut.
std::vector<std::int64_t> within(std::span<const std::int64_t> lengths, std::size_t words) {
  auto room = static_cast<std::int64_t>(words);
  std::vector<std::int64_t> kept;
  for (const std::int64_t length : lengths) {
    if (room == 0) break;
    kept.push_back(std::min(length, room));
    room -= kept.back();
  }
  return kept;
}

void read_document(const Cells& cells, Example& example) {
  std::vector<std::string> words = cells.needed_words("text");
  const std::vector<std::int64_t> lengths = sentence_lengths(cells.text("text"), words);
  example.levels["text"] = {within(lengths, cells.kept(words.size()))};
  set_gold(example, "text", words.size(), cells);
  set_text(example, "text", std::move(words), cells);
}

void read_translate(const Cells& cells, Example& example) {
  std::vector<std::string> words = cells.needed_words("text");
  set_gold(example, "text", words.size(), cells);
  set_text(example, "text", std::move(words), cells);
  example.target = cells.words("target");
  example.links = parse_links(cells.text("links"),
                              {.text = cells.words("text").size(),
                               .target = example.target.size(),
                               .kept = cells.kept(std::string::npos)},
                              cells.where());
  example.target.resize(cells.kept(example.target.size()));
}

void read_point(const Cells& cells, Example& example) {
  Values points = parse_points(cells.needed("points"), cells.where());
  HEED_CHECK(cells.kept(points.length()) == points.length(),
             "{}: {} points, and max_length is {}; a point that is left out cannot be pointed at",
             cells.where(), points.length(), cells.kept(points.length()));
  example.target = parse_order(cells.text("order"), points.length(), cells.where());
  example.values["points"] = std::move(points);
}

/// Sentences, then a question about them. A rationale is a number a sentence.
void read_answer(const Cells& cells, Example& example) {
  const std::string story = cells.needed("story");
  const std::vector<std::string> words = cells.needed_words("story");
  const std::vector<std::int64_t> lengths = sentence_lengths(story, words);
  std::vector<float> gold(lengths.size(), 0.0f);
  const std::string rationale = cells.text("rationale");
  if (!rationale.empty()) gold = parse_weights(rationale, lengths.size(), cells.where());
  std::vector<Sentence> sentences;
  auto word = words.begin();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    sentences.push_back({.words = {word, word + lengths[i]}, .gold = gold[i]});
    word += lengths[i];
  }
  set_story(example, "story", sentences, cells.limit());
  if (rationale.empty()) example.gold.clear();
  example.inputs["question"] = cells.needed_words("question");
}

using ReadRow = void (*)(const Cells&, Example&);

/// A kind whose examples are rows.
struct TableKind {
  std::string id, doc;
  std::vector<std::string> inputs;  // roles that every row has
  std::vector<InputInfo> infos;
  ReadRow read;
  std::string answer = "label";  // the role of what is learned
  std::string more = {};         // a role that rows may have besides
  /// Reads files that are no table.
  void (*plain)(const fs::path&, const DataSource&, FileNeeds, const TakePlaced&) = nullptr;
};

void read_rows(const fs::path& file, const DataSource& source, FileNeeds needs,
               std::span<const std::string> roles, const TableKind& kind, const TakePlaced& take) {
  std::vector<std::string> required = kind.inputs;
  if (needs.label) required.push_back(kind.answer);
  if (needs.split) required.emplace_back("split");
  const std::vector<Column> columns = wanted_columns(source, roles, required);
  std::size_t number = 0;
  for_each_row(file, columns, [&](const Row& row) {
    const Cells cells(at_line(file, row.line), row, columns, source, " or remove the row");
    Placed placed{.example = {}, .split = cells.text("split"), .line = row.line};
    placed.example.id = cells.text("id");  // an empty one is numbered in its part
    if (needs.label) cells.needed(kind.answer);
    if (kind.answer == "label") placed.example.label = cells.text("label");
    if (needs.shared) {
      placed.here = source.share.has(number++) || (needs.split && !is_train(placed.split));
      placed.hash = hash_of(row);
    }
    if (placed.here) kind.read(cells, placed.example);
    take(std::move(placed));
  });
}

DataKind table_kind(const TableKind& kind) {
  std::vector<std::string> roles = kind.inputs;
  roles.push_back(kind.answer);
  for (const char* role : {"split", "rationale", "id"}) roles.emplace_back(role);
  if (!kind.more.empty()) roles.push_back(kind.more);
  return file_kind(
      kind.id, kind.doc, roles, kind.infos,
      [=](const fs::path& file, const DataSource& source, FileNeeds needs, const TakePlaced& take) {
        if (kind.plain && !is_table(file)) return kind.plain(file, source, needs, take);
        read_rows(file, source, needs, roles, kind, take);
      },
      /*in_parts=*/true);
}

const std::vector<TableKind>& tables() {
  static const InputInfo text{.name = "text"};
  static const std::vector<TableKind> all = {
      {"classify", "a label for a text", {"text"}, {text}, read_classify},
      {"pair",
       "a label for two texts",
       {"first", "second"},
       {{.name = "first"}, {.name = "second"}},
       read_pair},
      {"aspect",
       "the label of one target in a sentence",
       {"left", "target", "right"},
       {text, {.name = "target"}, {.name = "left"}, {.name = "right"}},
       read_aspect},
      {"document",
       "a label for a text in sentences",
       {"text"},
       {{.name = "text", .levels = 1}},
       read_document},
      {"answer",
       "the answer to a question about a story",
       {"story", "question"},
       {{.name = "story", .levels = 1}, {.name = "question"}},
       read_answer,
       "label",
       {},
       read_babi},
      {"translate",
       "a text for a text",
       {"text"},
       {text},
       read_translate,
       "target",
       "links",
       read_parallel},
      {"point",
       "an order of some of the points",
       {"points"},
       {{.name = "points", .width = 2}},
       read_point,
       "order"},
  };
  return all;
}

}  // namespace

std::vector<Column> wanted_columns(const DataSource& source, std::span<const std::string> roles,
                                   std::span<const std::string> required) {
  for (const auto& [role, name] : source.columns) {
    HEED_CHECK(std::ranges::find(roles, role) != roles.end(),
               "task.columns: unknown column '{}' of kind '{}'{}", role, source.kind,
               suggestion(role, roles));
  }
  std::vector<Column> columns;
  for (const std::string& role : roles) {
    const auto named = source.columns.find(role);
    const bool given = named != source.columns.end();
    const bool needed = std::ranges::find(required, role) != required.end();
    // A name the user wrote must exist, though the role may do without: silence would hide a typo.
    const bool asked = given && role != "label" && role != "split";
    columns.push_back(
        {.role = role, .name = given ? named->second : role, .required = needed || asked});
  }
  return columns;
}

std::vector<DataKind> table_kinds() {
  std::vector<DataKind> kinds;
  for (const TableKind& kind : tables()) kinds.push_back(table_kind(kind));
  return kinds;
}

std::vector<std::string> text_fields(const std::string& kind) {
  const auto found = std::ranges::find(tables(), kind, &TableKind::id);
  return found == tables().end() ? std::vector<std::string>() : found->inputs;
}

Example read_fields(const DataSource& source, std::span<const InputInfo> inputs,
                    const std::map<std::string, std::string>& fields) {
  const auto kind = std::ranges::find(tables(), source.kind, &TableKind::id);
  HEED_CHECK(kind != tables().end(),
             "inputs: examples of kind '{}' are no text; choose one of the test part by its id",
             source.kind);
  for (const auto& [name, text] : fields) {
    HEED_CHECK(std::ranges::find(kind->inputs, name) != kind->inputs.end(),
               "inputs: kind '{}' has no input '{}'{}", source.kind, name,
               suggestion(name, kind->inputs));
    HEED_CHECK(!invalid_utf8(text), "inputs: the {} is not valid UTF-8", name);
  }
  std::vector<Column> columns;
  Row row;
  for (const std::string& role : kind->inputs) {
    const auto given = fields.find(role);
    columns.push_back({.role = role, .name = role});
    row.cells.emplace_back(given == fields.end() ? "" : given->second);
  }
  for (const char* role : {"rationale", "target", "order", "links"}) {  // what nobody knows yet
    if (std::ranges::find(kind->inputs, role) != kind->inputs.end()) continue;
    columns.push_back({.role = role, .name = role});
    row.cells.emplace_back(std::nullopt);
  }
  Example example{.id = "1"};
  const Cells cells("inputs", row, columns, source, "");
  kind->read(cells, example);
  for (const InputInfo& input : inputs) {
    const auto words = example.inputs.find(input.name);
    if (input.levels == 0 || words == example.inputs.end()) continue;
    std::vector<std::vector<std::int64_t>>& levels = example.levels[input.name];
    if (levels.empty())
      levels.push_back(within(sentence_lengths(cells.text(input.name), cells.words(input.name)),
                              words->second.size()));
    // What is above sentences (paragraphs, turns) is one.
    while (levels.size() < static_cast<std::size_t>(input.levels))
      levels.push_back({static_cast<std::int64_t>(levels.back().size())});
  }
  return example;
}

}  // namespace heed
